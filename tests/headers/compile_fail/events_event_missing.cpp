// SPDX-License-Identifier: MIT
// expect: tenon: WithEvents needs a public `struct Event`
#include <tenon/tenon.hpp>

class X final : public tenon::Backend<X>, public tenon::WithEvents<X> {
 public:
  static constexpr std::string_view id = "X";
  struct Delegate {};
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
  tenon::Status start(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

TENON_PLUGIN(X);
