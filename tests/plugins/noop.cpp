// SPDX-License-Identifier: MIT
// Does nothing, for timing and for programs whose numbers do not matter: the calls are real.
#include <tenon/tenon.hpp>

namespace {

class NoopBackend final : public tenon::Backend<NoopBackend> {
 public:
  static constexpr std::string_view id = "NoopBackend";

  struct Delegate {};

  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

}  // namespace

TENON_PLUGIN(NoopBackend);
