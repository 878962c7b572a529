// SPDX-License-Identifier: MIT
// expect: tenon: the backend's mixins must be public bases
#include <tenon/tenon.hpp>

class X final : public tenon::Backend<X>, tenon::WithDevices<X> {
 public:
  static constexpr std::string_view id = "X";
  tenon::Result<std::vector<tenon::DeviceInfo>> devices() { return tenon::ok(); }
  struct Delegate {};
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

TENON_PLUGIN(X);
