// SPDX-License-Identifier: MIT
#include "driver/driver.hpp"

#include <dlfcn.h>

#include <atomic>
#include <mutex>
#include <string>

namespace tenon::cuda_aoti {

namespace {

/// The libraries, and the function table of the driver. Never unloaded.
struct Libraries {
  std::mutex mutex;
  void* driver = nullptr;
  void* runtime = nullptr;
  bool runtime_was_sought = false;
  Driver table;
  std::atomic<bool> is_ready = false;
};

Libraries& libraries() {
  static Libraries only;
  return only;
}

/// Result of filling `table`; a failure names the function that the library lacks.
Status fill(void* library, Driver& table) {
  std::string_view missing;
#define TENON_CUDA_FIND(member, symbol, parameters)                                   \
  table.member = reinterpret_cast<CUresult(*) parameters>(::dlsym(library, #symbol)); \
  if (!table.member) missing = #symbol;
  TENON_CUDA_DRIVER_FUNCTIONS(TENON_CUDA_FIND)
#undef TENON_CUDA_FIND
  if (missing.empty()) return ok();
  return error(Error::NotSupported, "the CUDA driver has no ", missing,
               ": expected a driver for CUDA 11.8 or later");
}

Error error_of(CUresult code) noexcept {
  switch (code) {
    case CUDA_ERROR_INVALID_VALUE:
      return Error::InvalidArgument;
    case CUDA_ERROR_OUT_OF_MEMORY:
      return Error::MemoryAllocationFailed;
    case CUDA_ERROR_NO_DEVICE:
      return Error::NotFound;
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
      return Error::DelegateInvalidCompatibility;
    default:
      return Error::Internal;
  }
}

/// True for failures after which every call of CUDA in the process fails (cuda.h: "this leaves the
/// process in an inconsistent state ... the process must be terminated and relaunched"), and for an
/// error of the memory that the driver cannot correct.
bool is_sticky(CUresult code) noexcept {
  constexpr CUresult ecc_uncorrectable = 214;
  constexpr CUresult illegal_address = 700;
  constexpr CUresult launch_timeout = 702;
  constexpr CUresult assertion = 710;
  constexpr CUresult first_of_kernels = 714;  // CUDA_ERROR_HARDWARE_STACK_ERROR
  constexpr CUresult launch_failed = 719;
  return code == ecc_uncorrectable || code == illegal_address || code == launch_timeout ||
         code == assertion || (code >= first_of_kernels && code <= launch_failed);
}

}  // namespace

Status Driver::check(std::string_view call, CUresult code) const {
  if (code == CUDA_SUCCESS) [[likely]]
    return ok();
  const char* name = nullptr;
  const char* text = nullptr;
  static_cast<void>(cuGetErrorName(code, &name));
  static_cast<void>(cuGetErrorString(code, &text));
  return error(error_of(code), call, ": ", std::string_view(name ? name : "unknown CUDA error"),
               " (", code, "): ", std::string_view(text ? text : "the driver does not know it"),
               is_sticky(code) ? "; CUDA cannot be used in this process any more: restart it" : "");
}

Result<const Driver*> load_driver() {
  Libraries& found = libraries();
  if (found.is_ready.load(std::memory_order_acquire)) return &found.table;
  const std::lock_guard lock(found.mutex);
  if (found.is_ready.load(std::memory_order_relaxed)) return &found.table;
  if (!found.driver) {
    found.driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!found.driver) {
      const char* reason = ::dlerror();
      return error(Error::NotFound, "no CUDA driver: ",
                   std::string_view(reason ? reason : "libcuda.so.1 cannot be loaded"));
    }
  }
  TENON_RETURN_IF_ERROR(fill(found.driver, found.table));
  const CUresult started = found.table.cuInit(0);
  TENON_RETURN_IF_ERROR(found.table.check("cuInit", started)
                            .with_context(started == CUDA_ERROR_NO_DEVICE
                                              ? "the CUDA driver has no device"
                                              : "the CUDA driver does not start"));
  found.is_ready.store(true, std::memory_order_release);
  return &found.table;
}

const void* find_in_cuda_libraries(std::string_view name) {
  const std::string symbol(name);
  if (!load_driver().ok()) return nullptr;
  Libraries& found = libraries();
  if (!name.starts_with("cuda")) return ::dlsym(found.driver, symbol.c_str());
  const std::lock_guard lock(found.mutex);
  if (!found.runtime_was_sought) {
    found.runtime_was_sought = true;
    for (const char* library : {"libcudart.so.13", "libcudart.so.12", "libcudart.so"}) {
      found.runtime = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
      if (found.runtime) break;
    }
  }
  return found.runtime ? ::dlsym(found.runtime, symbol.c_str()) : nullptr;
}

}  // namespace tenon::cuda_aoti
