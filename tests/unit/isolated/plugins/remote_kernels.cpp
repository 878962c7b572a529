// SPDX-License-Identifier: MIT
//
// A kernel, remote::increase(x, x), that adds 1 to floats wherever they are: in memory of the CPU,
// in memory that was imported, and on a device 4:0 of its own, which is memory of the CPU as well.
#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <tenon/backend/mapped_memory.hpp>
#include <tenon/tenon.hpp>
#include <vector>

namespace {

using tenon::Args;
using tenon::Error;
using tenon::Result;
using tenon::Status;

constexpr tenon_dl_device my_device{4, 0};

class RemoteKernels final : public tenon::Backend<RemoteKernels>,
                            public tenon::WithKernels<RemoteKernels>,
                            public tenon::WithDevices<RemoteKernels>,
                            public tenon::WithDeviceMemory<RemoteKernels>,
                            public tenon::WithExternalMemory<RemoteKernels> {
 public:
  static constexpr std::string_view id = "RemoteKernels";
  static constexpr std::array<std::string_view, 1> operators{"remote::increase"};

  struct Kernel {
    Status run(tenon::ExecutionContext&, Args args) {
      const tenon_tensor& x = *args.raw()[0]->as.tensor;
      auto* const data = static_cast<float*>(x.dl.data);
      for (std::uint64_t i = 0; i < x.nbytes / sizeof(float); ++i) data[i] += 1;
      return tenon::ok();
    }
  };
  Result<Kernel> create_kernel(std::string_view, Args) { return Kernel{}; }

  Result<std::vector<tenon::DeviceInfo>> devices() {
    return std::vector<tenon::DeviceInfo>{{my_device, "0", "memory of the CPU"}};
  }
  Result<void*> allocate_device(tenon_dl_device device, std::size_t nbytes, std::size_t alignment) {
    TENON_RETURN_IF_ERROR(check(device));
    void* const out =
        std::aligned_alloc(alignment, (nbytes + alignment - 1) / alignment * alignment);
    if (!out) return tenon::error(Error::MemoryAllocationFailed, "no memory");
    return out;
  }
  void free_device(tenon_dl_device, void* block) noexcept { std::free(block); }
  Status copy_to_device(tenon_dl_device device, void* to, const void* from, std::size_t nbytes) {
    TENON_RETURN_IF_ERROR(check(device));
    std::memcpy(to, from, nbytes);
    return tenon::ok();
  }
  Status copy_to_host(tenon_dl_device device, void* to, const void* from, std::size_t nbytes) {
    return copy_to_device(device, to, from, nbytes);
  }
  Status copy_on(void*, tenon_dl_device device, void* to, tenon_dl_device, const void* from,
                 std::size_t nbytes) {
    return copy_to_device(device, to, from, nbytes);
  }

  using ImportedMemory = tenon::MappedMemory;
  static constexpr std::array memory_kinds{tenon::MemoryKind::MemFd, tenon::MemoryKind::ClMem};
  static Result<ImportedMemory> import_memory(const tenon::ExternalMemory& memory) {
    return ImportedMemory::map(memory);
  }

 private:
  static Status check(tenon_dl_device device) {
    if (device.device_type == my_device.device_type && device.device_id == 0) return tenon::ok();
    return tenon::error(Error::InvalidArgument, "device ", device.device_type, ":",
                        device.device_id, " is not 4:0");
  }
};

}  // namespace

TENON_PLUGIN(RemoteKernels);
