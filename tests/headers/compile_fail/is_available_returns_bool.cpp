// SPDX-License-Identifier: MIT
// expect: tenon: the backend's `is_available` must be `tenon::Status is_available()`
#include <tenon/tenon.hpp>

class X final : public tenon::Backend<X> {
 public:
  static constexpr std::string_view id = "X";
  struct Delegate {};
  bool is_available() { return true; }
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

TENON_PLUGIN(X);
