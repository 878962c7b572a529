// SPDX-License-Identifier: MIT
// expect: tenon: WithSequence needs a public
#include <tenon/tenon.hpp>

class X final : public tenon::Backend<X>, public tenon::WithSequence<X> {
 public:
  static constexpr std::string_view id = "X";
  struct Delegate {};
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

TENON_PLUGIN(X);
