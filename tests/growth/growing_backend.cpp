// SPDX-License-Identifier: MIT
//
// A backend that asks its host for as much as its blob says: "data 1000" looks up the keys "k0" to
// "k999". It has memory on a device, and offers kernels but has none of those that it is asked for.
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <tenon/tenon.hpp>
#include <vector>

namespace {

using tenon::Error;
using tenon::Result;
using tenon::Status;

class Growing final : public tenon::Backend<Growing>,
                      public tenon::WithCheckBlob<Growing>,
                      public tenon::WithDevices<Growing>,
                      public tenon::WithDeviceMemory<Growing>,
                      public tenon::WithKernels<Growing> {
 public:
  static constexpr std::string_view id = "Growing";

  struct Delegate {};
  struct Kernel {
    Status run(tenon::ExecutionContext&, tenon::Args) { return tenon::ok(); }
  };

  Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs specs) {
    std::size_t size = 0;
    for (std::size_t i = 0; i < specs.size(); ++i) size += specs[i].key.size();
    return size == static_cast<std::size_t>(-1)
               ? Result<Delegate>(tenon::error(Error::Internal, "?"))
               : Delegate{};
  }
  Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }

  Result<tenon::BlobVerdict> check_blob(tenon::InitContext& context, tenon::Blob processed,
                                        tenon::CompileSpecs) {
    constexpr std::string_view prefix = "data ";
    const std::string_view text = processed.text();
    std::size_t count = 0;
    if (text.starts_with(prefix)) {
      std::from_chars(text.data() + prefix.size(), text.data() + text.size(), count);
    }
    const auto map = context.named_data_map();
    for (std::size_t i = 0; map && i < count; ++i) {
      static_cast<void>(map->get_data(tenon::concat("k", i)));
    }
    return tenon::BlobVerdict{};
  }

  Result<std::vector<std::string>> list_operators() { return std::vector<std::string>{"a::b"}; }
  Result<Kernel> create_kernel(std::string_view op, tenon::Args) {
    return tenon::error(Error::OperatorMissing, "no kernel here, found ", op);
  }

  Result<std::vector<tenon::DeviceInfo>> devices() {
    return std::vector<tenon::DeviceInfo>{{{TENON_DL_CUDA, 0}, "device", "of a test", 0}};
  }
  Result<void*> allocate_device(tenon_dl_device, std::size_t nbytes, std::size_t alignment) {
    return std::aligned_alloc(alignment, (nbytes + alignment - 1) / alignment * alignment);
  }
  void free_device(tenon_dl_device, void* block) noexcept { std::free(block); }
  Status copy_to_device(tenon_dl_device, void* to, const void* from, std::size_t nbytes) {
    std::memcpy(to, from, nbytes);
    return tenon::ok();
  }
  Status copy_to_host(tenon_dl_device, void* to, const void* from, std::size_t nbytes) {
    std::memcpy(to, from, nbytes);
    return tenon::ok();
  }
};

}  // namespace

TENON_PLUGIN(Growing);
