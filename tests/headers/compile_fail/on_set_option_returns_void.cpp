// SPDX-License-Identifier: MIT
// expect: tenon: the backend's `on_set_option` must be
#include <tenon/tenon.hpp>

class X final : public tenon::Backend<X>, public tenon::WithOptions<X> {
 public:
  static constexpr std::string_view id = "X";
  static constexpr std::array options{tenon::OptionSpec{"threads", 1, "worker threads"}};
  struct Delegate {};
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
  void on_set_option(std::string_view, const tenon::OptionView&) {}
};

TENON_PLUGIN(X);
