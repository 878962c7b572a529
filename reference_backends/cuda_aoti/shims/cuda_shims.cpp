// SPDX-License-Identifier: MIT
#include "shims/cuda_shims.hpp"

#include <array>
#include <cstddef>

#include "driver/device.hpp"

namespace tenon::cuda_aoti {

struct CudaGuard {
  void* stream_before;
  bool is_used;
};

namespace {

/// Guards of one model: a fixed number, so that a run allocates nothing. Models nest at most three.
struct Guards {
  std::array<CudaGuard, 64> all{};
};

Status check_device(std::int32_t index) {
  const std::int32_t own = aoti::current_pool().memory().device_index;
  // -1 is the current device (c10::Device).
  if (index == own || index == -1) return ok();
  return error(Error::NotSupported, "the model works on CUDA device ", own, ", found device ",
               index);
}

Result<CudaGuard*> take_guard() {
  aoti::TensorPool& pool = aoti::current_pool();
  for (CudaGuard& guard : pool.cache<Guards>().all) {
    if (guard.is_used) continue;
    guard = {pool.stream(), true};
    return &guard;
  }
  return error(Error::OutOfResources, "more than 64 guards at the same time");
}

/// Guards end in reverse order.
Status end_guard(CudaGuard* guard) {
  if (!guard || !guard->is_used) {
    return error(Error::InvalidArgument, "expected a guard that was made and not deleted");
  }
  aoti::current_pool().set_stream(guard->stream_before);
  guard->is_used = false;
  return ok();
}

}  // namespace

ShimError aoti_torch_create_cuda_guard(std::int32_t device_index, CudaGuard** out) noexcept {
  return aoti::shim_call("aoti_torch_create_cuda_guard", [&]() -> Status {
    TENON_RETURN_IF_ERROR(check_device(device_index));
    TENON_TRY(*out, take_guard());
    return ok();
  });
}
ShimError aoti_torch_delete_cuda_guard(CudaGuard* guard) noexcept {
  return aoti::shim_call("aoti_torch_delete_cuda_guard", [&] { return end_guard(guard); });
}
ShimError aoti_torch_cuda_guard_set_index(CudaGuard* guard, std::int32_t device_index) noexcept {
  return aoti::shim_call("aoti_torch_cuda_guard_set_index", [&]() -> Status {
    if (!guard) return error(Error::InvalidArgument, "expected a guard, found null");
    return check_device(device_index);
  });
}
ShimError aoti_torch_create_cuda_stream_guard(void* stream, std::int32_t device_index,
                                              CudaGuard** out) noexcept {
  return aoti::shim_call("aoti_torch_create_cuda_stream_guard", [&]() -> Status {
    if (!stream) return error(Error::InvalidArgument, "expected a stream, found null");
    TENON_RETURN_IF_ERROR(check_device(device_index));
    TENON_TRY(*out, take_guard());
    aoti::current_pool().set_stream(stream);
    return ok();
  });
}
ShimError aoti_torch_delete_cuda_stream_guard(CudaGuard* guard) noexcept {
  return aoti::shim_call("aoti_torch_delete_cuda_stream_guard", [&] { return end_guard(guard); });
}
ShimError aoti_torch_get_current_cuda_stream(std::int32_t device_index, void** out) noexcept {
  return aoti::shim_call("aoti_torch_get_current_cuda_stream", [&]() -> Status {
    TENON_RETURN_IF_ERROR(check_device(device_index));
    *out = aoti::current_pool().stream();
    return ok();
  });
}

ShimError aoti_torch_cuda_caching_allocator_raw_alloc(std::uint64_t nbytes, void** out) noexcept {
  return aoti::shim_call("aoti_torch_cuda_caching_allocator_raw_alloc", [&]() -> Status {
    const aoti::DeviceMemoryApi& memory = aoti::current_pool().memory();
    TENON_TRY(*out, memory.allocate(memory.context.get(), static_cast<std::size_t>(nbytes)));
    return ok();
  });
}
/// Enqueued work may still use the block.
ShimError aoti_torch_cuda_caching_allocator_raw_delete(void* block) noexcept {
  return aoti::shim_call("aoti_torch_cuda_caching_allocator_raw_delete", [&]() -> Status {
    const aoti::TensorPool& pool = aoti::current_pool();
    if (!block) return ok();
    Status status = pool.synchronize();
    pool.memory().free(pool.memory().context.get(), static_cast<std::byte*>(block));
    return status;
  });
}

}  // namespace tenon::cuda_aoti
