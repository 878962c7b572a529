// SPDX-License-Identifier: MIT
// expect: tenon: the limits of an option must have the type of its initial value
#include <tenon/tenon.hpp>

class X final : public tenon::Backend<X>, public tenon::WithOptions<X> {
 public:
  static constexpr std::string_view id = "X";
  static constexpr std::array options{tenon::OptionSpec{"scale", 0.5, "factor"}.between(0, 1)};
  struct Delegate {};
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

TENON_PLUGIN(X);
