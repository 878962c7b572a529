// SPDX-License-Identifier: MIT
//
// Memory of the CUDA runtime, as models call it.
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "driver/device.hpp"
#include "shims/runtime_call.hpp"
#include "shims/shim_list.hpp"

namespace tenon::cuda_aoti {

namespace {

/// Addresses without memory. A model that takes its weights from a blob allocates a block for all
/// of them, copies them there and makes tensors on it. The tensors are made on the shared weights
/// instead (aoti::ConstantAdoption), so the block needs no memory.
class Reservations {
 public:
  Reservations() = default;
  Reservations(const Reservations&) = delete;
  Reservations& operator=(const Reservations&) = delete;
  ~Reservations() {
    for (const auto& [address, nbytes] : ranges_) ::munmap(address, nbytes);
  }

  /// Null when the system has no addresses left. Throws std::bad_alloc.
  void* add(std::size_t nbytes) {
    ranges_.reserve(ranges_.size() + 1);
    void* address =
        ::mmap(nullptr, nbytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) return nullptr;
    ranges_.emplace_back(static_cast<std::byte*>(address), nbytes);
    return address;
  }
  [[nodiscard]] bool holds(const void* address) const noexcept {
    return find(address) != ranges_.end();
  }
  bool remove(const void* address) noexcept {
    const auto found = find(address);
    if (found == ranges_.end()) return false;
    ::munmap(found->first, found->second);
    ranges_.erase(found);
    return true;
  }

 private:
  using Range = std::pair<std::byte*, std::size_t>;
  [[nodiscard]] std::vector<Range>::const_iterator find(const void* address) const noexcept {
    const auto* place = static_cast<const std::byte*>(address);
    return std::ranges::find_if(ranges_, [&](const Range& range) {
      return std::greater_equal{}(place, range.first) &&
             std::less{}(place, range.first + range.second);
    });
  }
  std::vector<Range> ranges_;
};

cudaError_t cudaMalloc(void** out, std::size_t nbytes) noexcept {
  return run("cudaMalloc", [&](const Driver& driver) -> Outcome {
    *out = nullptr;
    if (nbytes == 0) return CUDA_SUCCESS;
    if (calling_pool() && calling_pool()->adoption()) {
      *out = calling_pool()->cache<Reservations>().add(nbytes);
      return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUdeviceptr block = 0;
    const Outcome outcome = TENON_DRIVER(driver, cuMemAlloc, &block, nbytes);
    if (outcome.code == CUDA_SUCCESS) {
      *out = reinterpret_cast<void*>(static_cast<std::uintptr_t>(block));
    }
    return outcome;
  });
}

cudaError_t cudaFree(void* block) noexcept {
  return run("cudaFree", [&](const Driver& driver) -> Outcome {
    if (!block) return CUDA_SUCCESS;
    if (calling_pool() && calling_pool()->cache<Reservations>().remove(block)) return CUDA_SUCCESS;
    return TENON_DRIVER(driver, cuMemFree, to_device_pointer(block));
  });
}

/// True for a copy of weights to addresses without memory.
bool is_left_out(const void* to) {
  return calling_pool() && calling_pool()->adoption() &&
         calling_pool()->cache<Reservations>().holds(to);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t nbytes, int,
                            CUstream stream) noexcept {
  return run("cudaMemcpyAsync", [&](const Driver& driver) -> Outcome {
    if (nbytes == 0 || is_left_out(to)) return CUDA_SUCCESS;
    return TENON_DRIVER(driver, cuMemcpyAsync, to_device_pointer(to), to_device_pointer(from),
                        nbytes, stream);
  });
}

/// Waits also where the runtime would not: streams of graphs do not wait for the default one.
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t nbytes, int) noexcept {
  return run("cudaMemcpy", [&](const Driver& driver) -> Outcome {
    if (nbytes == 0 || is_left_out(to)) return CUDA_SUCCESS;
    const Outcome copied = TENON_DRIVER(driver, cuMemcpyAsync, to_device_pointer(to),
                                        to_device_pointer(from), nbytes, nullptr);
    return copied.code != CUDA_SUCCESS ? copied
                                       : TENON_DRIVER(driver, cuStreamSynchronize, nullptr);
  });
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t nbytes, CUstream stream) noexcept {
  return run("cudaMemsetAsync", [&](const Driver& driver) -> Outcome {
    if (nbytes == 0) return CUDA_SUCCESS;
    return TENON_DRIVER(driver, cuMemsetD8Async, to_device_pointer(to),
                        static_cast<unsigned char>(value), nbytes, stream);
  });
}

/// On the default stream, and not waited for, as in the runtime.
cudaError_t cudaMemset(void* to, int value, std::size_t nbytes) noexcept {
  return run("cudaMemset", [&](const Driver& driver) -> Outcome {
    if (nbytes == 0) return CUDA_SUCCESS;
    return TENON_DRIVER(driver, cuMemsetD8Async, to_device_pointer(to),
                        static_cast<unsigned char>(value), nbytes, nullptr);
  });
}

/// The flags have the driver's numbers (driver_types.h, cudaHostAlloc*).
cudaError_t cudaHostAlloc(void** out, std::size_t nbytes, unsigned flags) noexcept {
  return run("cudaHostAlloc", [&](const Driver& driver) -> Outcome {
    *out = nullptr;
    if (nbytes == 0) return CUDA_SUCCESS;
    return TENON_DRIVER(driver, cuMemHostAlloc, out, nbytes, flags);
  });
}

cudaError_t cudaFreeHost(void* block) noexcept {
  return run("cudaFreeHost", [&](const Driver& driver) -> Outcome {
    if (!block) return CUDA_SUCCESS;
    return TENON_DRIVER(driver, cuMemFreeHost, block);
  });
}

/// The part of cudaPointerAttributes that all versions have (driver_types.h of CUDA 11 to 13): up
/// to 12 it is all of it, so nothing may be written behind it.
struct cudaPointerAttributes {
  int type;
  int device;
  void* devicePointer;
  void* hostPointer;
};
static_assert(sizeof(cudaPointerAttributes) == 24);

/// Memory that CUDA does not know has type 0, as in the runtime since CUDA 11.
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* out, const void* address) noexcept {
  return run("cudaPointerGetAttributes", [&](const Driver& driver) -> Outcome {
    constexpr int managed_memory = 3;
    *out = {};
    out->device = -2;
    const CUdeviceptr place = to_device_pointer(address);
    int type = 0;
    int device = 0;
    unsigned managed = 0;
    if (driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, place) !=
        CUDA_SUCCESS) {
      out->hostPointer = const_cast<void*>(address);
      return CUDA_SUCCESS;
    }
    static_cast<void>(
        driver.cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, place));
    static_cast<void>(
        driver.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, place));
    out->type = managed != 0 ? managed_memory : type;
    out->device = device;
    out->devicePointer = const_cast<void*>(address);
    if (type == CU_MEMORYTYPE_HOST || managed != 0) out->hostPointer = const_cast<void*>(address);
    return CUDA_SUCCESS;
  });
}

}  // namespace

std::span<const aoti::Shim> runtime_memory_shims() {
  static const aoti::Shim list[] = {
      // One a line.
      TENON_AOTI_ENTRY(cudaMalloc, )                //
      TENON_AOTI_ENTRY(cudaFree, )                  //
      TENON_AOTI_ENTRY(cudaFreeHost, )              //
      TENON_AOTI_ENTRY(cudaHostAlloc, )             //
      TENON_AOTI_ENTRY(cudaMemcpy, )                //
      TENON_AOTI_ENTRY(cudaMemcpyAsync, )           //
      TENON_AOTI_ENTRY(cudaMemset, )                //
      TENON_AOTI_ENTRY(cudaMemsetAsync, )           //
      TENON_AOTI_ENTRY(cudaPointerGetAttributes, )  //
  };
  return list;
}

}  // namespace tenon::cuda_aoti
