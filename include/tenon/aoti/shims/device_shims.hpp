// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "tenon/aoti/shims/host_shims.hpp"

/// Shims that read or write elements of tensors on a device with memory of its own, or on the host.
/// They enqueue on the pool's stream; those that touch the host's memory wait. They replace the
/// shims of the same names in host_shims.hpp.
namespace tenon { inline namespace TENON_RELEASE { namespace aoti::shims {

namespace detail {

inline bool is_on_host(const ModelTensor& tensor) noexcept {
  return tensor.device_type == TorchDeviceType::cpu;
}

/// A tensor that is released on destruction.
class Temporary {
 public:
  Temporary(TensorPool& pool, const ModelTensor& like, TorchDeviceType device)
      : pool_(pool),
        tensor_(
            pool.empty_strided(like.shape(), nullptr, like.scalar_type, device,
                               device == TorchDeviceType::cpu ? 0 : pool.memory().device_index)) {}
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (tensor_) pool_.release(tensor_);
  }
  [[nodiscard]] Result<ModelTensor*> get() const {
    if (tensor_) return tensor_;
    return error(Error::MemoryAllocationFailed, "no memory for a copy");
  }

 private:
  TensorPool& pool_;
  ModelTensor* tensor_;
};

/// True when one copy of adjacent bytes copies one tensor to the other.
inline bool is_same_block(const ModelTensor& a, const ModelTensor& b) noexcept {
  if (a.numel != b.numel || a.rank != b.rank) return false;
  for (std::size_t d = 0; d < a.shape().size(); ++d) {
    if (a.sizes[d] != b.sizes[d] || a.strides[d] != b.strides[d]) return false;
  }
  return is_dense(a);
}

inline Status copy_on_device(const TensorPool& pool, const ModelTensor& to,
                             const ModelTensor& from) {
  TENON_TRY(const auto strides, copy_strides(to, from));
  if (to.numel == 0) return ok();
  if (is_same_block(to, from)) {
    return pool.copy(CopyKind::within_device, to.data, from.data, to.nbytes());
  }
  return pool.copy_strided({to.data, to.step(), from.data,
                            std::span(strides).first(static_cast<std::size_t>(to.rank)), to.shape(),
                            size_of(to.scalar_type)});
}

/// Copies between two tensors on the host or the device. A copy that touches the host is complete
/// when this returns, so that temporary blocks can be freed.
inline Status copy_anywhere(TensorPool& pool, const ModelTensor& to, const ModelTensor& from) {
  if (is_on_host(to) && is_on_host(from)) return copy_tensor(to, from);
  if (!is_on_host(to) && !is_on_host(from)) return copy_on_device(pool, to, from);
  TENON_TRY([[maybe_unused]] const auto strides, copy_strides(to, from));
  const CopyKind kind = is_on_host(to) ? CopyKind::to_host : CopyKind::to_device;
  if (is_same_block(to, from)) {
    TENON_RETURN_IF_ERROR(pool.copy(kind, to.data, from.data, to.nbytes()));
    return pool.synchronize();
  }
  const Temporary far(pool, to, pool.memory().device_type);
  const Temporary near(pool, to, TorchDeviceType::cpu);
  TENON_TRY(const ModelTensor* const on_device, far.get());
  TENON_TRY(const ModelTensor* const on_host, near.get());
  if (kind == CopyKind::to_device) {
    TENON_RETURN_IF_ERROR(copy_tensor(*on_host, from));
    TENON_RETURN_IF_ERROR(pool.copy(kind, on_device->data, on_host->data, to.nbytes()));
    TENON_RETURN_IF_ERROR(copy_on_device(pool, to, *on_device));
    return pool.synchronize();
  }
  TENON_RETURN_IF_ERROR(copy_on_device(pool, *on_device, from));
  TENON_RETURN_IF_ERROR(pool.copy(kind, on_host->data, on_device->data, to.nbytes()));
  TENON_RETURN_IF_ERROR(pool.synchronize());
  return copy_tensor(to, *on_host);
}

inline ShimError copy_of_any(const char* name, ModelTensor* self, bool keep_strides,
                             ModelTensor** out) noexcept {
  return copy_of(name, self, keep_strides, out, [](const ModelTensor& to, const ModelTensor& from) {
    return copy_anywhere(current_pool(), to, from);
  });
}

/// Enqueues zeroes for all elements, run by run where they are not adjacent.
inline Status zero_on_device(const TensorPool& pool, const ModelTensor& self) {
  const DeviceMemoryApi& memory = pool.memory();
  const std::size_t element = size_of(self.scalar_type);
  if (self.numel == 0) return ok();
  if (is_dense(self)) {
    return memory.zero(memory.context.get(), pool.stream(), self.data, self.nbytes());
  }
  const aoti::detail::CopyPlan plan =
      aoti::detail::plan_copy(self.shape(), self.step(), self.step());
  const bool has_runs = plan.rank != 0 && plan.to[plan.rank - 1] == 1;
  const std::size_t outer = has_runs ? plan.rank - 1 : plan.rank;
  const std::size_t run = element * static_cast<std::size_t>(has_runs ? plan.sizes[outer] : 1);
  std::array<std::int64_t, max_rank> index{};
  std::byte* place = self.data;
  while (true) {
    TENON_RETURN_IF_ERROR(memory.zero(memory.context.get(), pool.stream(), place, run));
    std::size_t d = outer;
    for (; d-- > 0;) {
      const auto step = plan.to[d] * static_cast<std::int64_t>(element);
      place += step;
      if (++index[d] < plan.sizes[d]) break;
      place -= step * plan.sizes[d];
      index[d] = 0;
    }
    if (d == static_cast<std::size_t>(-1)) return ok();
  }
}

template <class T>
ShimError item_anywhere(const char* name, ModelTensor* tensor, ScalarType type, T* out) noexcept {
  if (is_on_host(*tensor)) return item(name, tensor, type, out);
  return shim_call(name, [&]() -> Status {
    TENON_RETURN_IF_ERROR(expect_item(*tensor, type));
    const TensorPool& pool = current_pool();
    TENON_RETURN_IF_ERROR(
        pool.copy(CopyKind::to_host, reinterpret_cast<std::byte*>(out), tensor->data, sizeof *out));
    return pool.synchronize();
  });
}

}  // namespace detail

/// The device's versions, in a namespace of their own because the names are the same.
namespace on_device {

inline ShimError aoti_torch_clone(ModelTensor* self, ModelTensor** out) noexcept {
  return detail::copy_of_any("aoti_torch_clone", self, false, out);
}
inline ShimError aoti_torch_clone_preserve_strides(ModelTensor* self, ModelTensor** out) noexcept {
  return detail::copy_of_any("aoti_torch_clone_preserve_strides", self, true, out);
}
inline ShimError aoti_torch_copy_(ModelTensor* self, ModelTensor* source, std::int32_t) noexcept {
  return shim_call("aoti_torch_copy_",
                   [&] { return detail::copy_anywhere(current_pool(), *self, *source); });
}
inline ShimError aoti_torch_tensor_copy_(ModelTensor* source, ModelTensor* target) noexcept {
  return shim_call("aoti_torch_tensor_copy_",
                   [&] { return detail::copy_anywhere(current_pool(), *target, *source); });
}
inline ShimError aoti_torch_zero_(ModelTensor* self) noexcept {
  if (detail::is_on_host(*self)) return shims::aoti_torch_zero_(self);
  return shim_call("aoti_torch_zero_",
                   [&] { return detail::zero_on_device(current_pool(), *self); });
}
/// Host tensors of a device's pool are in memory that the device copies from directly.
inline ShimError aoti_torch_empty_strided_pinned(std::int64_t rank, const std::int64_t* sizes,
                                                 const std::int64_t* strides, std::int32_t dtype,
                                                 std::int32_t, std::int32_t,
                                                 ModelTensor** out) noexcept {
  return detail::give_new("aoti_torch_empty_strided_pinned", out, [&](TensorPool& pool) {
    return pool.empty_strided(detail::list(sizes, rank), strides, static_cast<ScalarType>(dtype),
                              TorchDeviceType::cpu, 0);
  });
}

#define TENON_AOTI_DEFINE_DEVICE_ITEM(suffix, type, number)                            \
  inline ShimError aoti_torch_item_##suffix(ModelTensor* tensor, type* out) noexcept { \
    return detail::item_anywhere("aoti_torch_item_" #suffix, tensor, number, out);     \
  }
TENON_AOTI_ITEMS(TENON_AOTI_DEFINE_DEVICE_ITEM)
TENON_AOTI_DEFINE_DEVICE_ITEM(float16, Half, ScalarType::Half)
TENON_AOTI_DEFINE_DEVICE_ITEM(bfloat16, BFloat16, ScalarType::BFloat16)
#undef TENON_AOTI_DEFINE_DEVICE_ITEM

/// All shims of this namespace.
inline std::span<const Shim> list() {
#define TENON_AOTI_DEVICE_ITEM_ENTRY(suffix, type, number) \
  TENON_AOTI_ENTRY(aoti_torch_item_##suffix, )
  static const Shim all[] = {
      TENON_AOTI_ENTRY(aoti_torch_clone, ) TENON_AOTI_ENTRY(aoti_torch_clone_preserve_strides, )
          TENON_AOTI_ENTRY(aoti_torch_copy_, ) TENON_AOTI_ENTRY(aoti_torch_tensor_copy_, )
              TENON_AOTI_ENTRY(aoti_torch_zero_, ) TENON_AOTI_ENTRY(
                  aoti_torch_empty_strided_pinned, ) TENON_AOTI_ENTRY(aoti_torch_item_float16, )
                  TENON_AOTI_ENTRY(aoti_torch_item_bfloat16, )
                      TENON_AOTI_ITEMS(TENON_AOTI_DEVICE_ITEM_ENTRY)};
#undef TENON_AOTI_DEVICE_ITEM_ENTRY
  return all;
}

}  // namespace on_device

}}}  // namespace tenon::TENON_RELEASE::aoti::shims
