// SPDX-License-Identifier: MIT
// expect: tenon: `copy_on` of WithDeviceMemory is a public
#include <tenon/tenon.hpp>

class X final : public tenon::Backend<X>,
                public tenon::WithDevices<X>,
                public tenon::WithDeviceMemory<X> {
 public:
  static constexpr std::string_view id = "X";
  struct Delegate {};
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
  tenon::Result<std::vector<tenon::DeviceInfo>> devices() {
    return std::vector<tenon::DeviceInfo>();
  }
  tenon::Result<void*> allocate_device(tenon_dl_device, std::size_t, std::size_t) {
    return nullptr;
  }
  void free_device(tenon_dl_device, void*) noexcept {}
  tenon::Status copy_to_device(tenon_dl_device, void*, const void*, std::size_t) {
    return tenon::ok();
  }
  tenon::Status copy_to_host(tenon_dl_device, void*, const void*, std::size_t) {
    return tenon::ok();
  }
  tenon::Status copy_on(void*, void*, const void*, std::size_t) { return tenon::ok(); }
};

TENON_PLUGIN(X);
