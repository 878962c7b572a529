// SPDX-License-Identifier: MIT
// expect: tenon: an option's initial value is outside of its limits
#include <tenon/tenon.hpp>

class X final : public tenon::Backend<X>, public tenon::WithOptions<X> {
 public:
  static constexpr std::string_view id = "X";
  static constexpr std::array options{tenon::OptionSpec{"threads", 0, "threads"}.between(1, 16)};
  struct Delegate {};
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

TENON_PLUGIN(X);
