// SPDX-License-Identifier: MIT
//
// Shims that make, copy and read tensors on the device. Copies between tensors on the device are
// enqueued; copies by the CPU wait for the device.
#include <array>
#include <cstring>

#include "device/metal_context.hpp"
#include "shims/shim_list.hpp"
#include "tenon/aoti/shims/base_shims.hpp"
#include "tenon/aoti/shims/host_shims.hpp"

namespace tenon::metal_aoti {

namespace base = aoti::shims;
using aoti::TorchDeviceType;

namespace {

bool is_mps(const ModelTensor& tensor) noexcept {
  return tensor.device_type == TorchDeviceType::mps;
}

/// Waits before the CPU reads or writes memory that the device may be using.
Status wait_for(const ModelTensor& tensor) {
  TENON_RETURN_IF_ERROR(check_has_memory(tensor));
  return is_mps(tensor) ? current_context().synchronize() : ok();
}

/// Copies between two tensors of the same dtype; `from` may be smaller where its sizes broadcast.
Status copy(const ModelTensor& to, const ModelTensor& from) {
  TENON_RETURN_IF_ERROR(check_has_memory(to));
  TENON_RETURN_IF_ERROR(check_has_memory(from));
  if (!is_mps(to) || !is_mps(from)) {
    TENON_RETURN_IF_ERROR(current_context().synchronize());
    return base::detail::copy_tensor(to, from);
  }
  TENON_TRY(const auto strides, base::detail::copy_strides(to, from));
  return current_context().copy_strided(
      {to.data, to.step(), from.data, std::span(strides).first(static_cast<std::size_t>(to.rank)),
       to.shape(), size_of(to.scalar_type)});
}

/// Refuses dtypes of 64-bit floating point on the device: Metal has none.
Status check_dtype(std::int32_t dtype, std::int32_t device_type) {
  const auto type = static_cast<ScalarType>(dtype);
  if (static_cast<TorchDeviceType>(device_type) != TorchDeviceType::mps ||
      (type != ScalarType::Double && type != ScalarType::ComplexDouble)) {
    return ok();
  }
  return error(Error::NotSupported, "dtype ", name_of(type),
               ": Metal has no numbers of this precision");
}

Status wrong_offset(std::int64_t elements) {
  return error(Error::InvalidProgram, "a constant at element ", elements,
               " of its own block: PyTorch counts wrongly where constants of the host and of the "
               "device are mixed");
}

/// Corrects the offset of a constant, which generated code for Metal counts from the beginning of a
/// block of all constants (torch/csrc/inductor/aoti_runtime/model_base.h, load_constants).
Result<std::int64_t> own_offset(std::int64_t offset, std::int32_t dtype, std::int32_t device_type) {
  MetalContext& context = current_context();
  const auto skipped = static_cast<std::int64_t>(context.take_constant_offset());
  if (!aoti::current_pool().adoption()) return offset;
  const auto size = static_cast<std::int64_t>(
      std::max<std::size_t>(base::aoti_torch_dtype_element_size(dtype), 1));
  const std::int64_t left = offset - skipped / size;
  if (left < 0 ||
      (left != 0 && static_cast<TorchDeviceType>(device_type) != TorchDeviceType::mps)) {
    return wrong_offset(left);
  }
  return left;
}

/// Makes a tensor on given memory with `make`, and checks that the memory is the device's.
template <class Make>
ShimError from_blob(const char* name, std::int64_t offset, std::int32_t dtype,
                    std::int32_t device_type, ModelTensor** out, Make make) noexcept {
  ShimError made = aoti::shim_ok;
  const ShimError failed = aoti::shim_call(name, [&]() -> Status {
    TENON_RETURN_IF_ERROR(check_dtype(dtype, device_type));
    TENON_TRY(const std::int64_t left, own_offset(offset, dtype, device_type));
    made = make(left);
    if (made != aoti::shim_ok || !is_mps(**out) || (*out)->numel == 0) return ok();
    const auto place = current_context().place((*out)->storage->data, (*out)->storage->nbytes);
    if (place.ok()) return ok();
    aoti::current_pool().release(*out);
    *out = nullptr;
    if (left != 0 && aoti::current_pool().adoption()) return wrong_offset(left);
    return error(Error::InvalidArgument, place.text());
  });
  return failed != aoti::shim_ok ? failed : made;
}

}  // namespace

ShimError aoti_torch_empty_strided(std::int64_t rank, const std::int64_t* sizes,
                                   const std::int64_t* strides, std::int32_t dtype,
                                   std::int32_t device_type, std::int32_t device_index,
                                   ModelTensor** out) noexcept {
  const ShimError failed =
      aoti::shim_call("aoti_torch_empty_strided", [&] { return check_dtype(dtype, device_type); });
  if (failed != aoti::shim_ok) return failed;
  return base::aoti_torch_empty_strided(rank, sizes, strides, dtype, device_type, device_index,
                                        out);
}

ShimError aoti_torch_create_tensor_from_blob(void* data, std::int64_t rank,
                                             const std::int64_t* sizes, const std::int64_t* strides,
                                             std::int64_t storage_offset, std::int32_t dtype,
                                             std::int32_t device_type, std::int32_t device_index,
                                             ModelTensor** out) noexcept {
  return from_blob("aoti_torch_create_tensor_from_blob", storage_offset, dtype, device_type, out,
                   [&](std::int64_t offset) {
                     return base::aoti_torch_create_tensor_from_blob(
                         data, rank, sizes, strides, offset, dtype, device_type, device_index, out);
                   });
}

ShimError aoti_torch_create_tensor_from_blob_v2(
    void* data, std::int64_t rank, const std::int64_t* sizes, const std::int64_t* strides,
    std::int64_t storage_offset, std::int32_t dtype, std::int32_t device_type,
    std::int32_t device_index, ModelTensor** out, std::int32_t layout, const std::uint8_t* opaque,
    std::int64_t opaque_size) noexcept {
  return from_blob("aoti_torch_create_tensor_from_blob_v2", storage_offset, dtype, device_type, out,
                   [&](std::int64_t offset) {
                     return base::aoti_torch_create_tensor_from_blob_v2(
                         data, rank, sizes, strides, offset, dtype, device_type, device_index, out,
                         layout, opaque, opaque_size);
                   });
}

ShimError aoti_torch_clone(ModelTensor* self, ModelTensor** out) noexcept {
  return base::detail::copy_of("aoti_torch_clone", self, false, out, &copy);
}
ShimError aoti_torch_clone_preserve_strides(ModelTensor* self, ModelTensor** out) noexcept {
  return base::detail::copy_of("aoti_torch_clone_preserve_strides", self, true, out, &copy);
}
ShimError aoti_torch_copy_(ModelTensor* self, ModelTensor* source, std::int32_t) noexcept {
  return aoti::shim_call("aoti_torch_copy_", [&] { return copy(*self, *source); });
}
ShimError aoti_torch_tensor_copy_(ModelTensor* source, ModelTensor* target) noexcept {
  return aoti::shim_call("aoti_torch_tensor_copy_", [&] { return copy(*target, *source); });
}
ShimError aoti_torch_zero_(ModelTensor* self) noexcept {
  const ShimError failed = aoti::shim_call("aoti_torch_zero_", [&] { return wait_for(*self); });
  return failed != aoti::shim_ok ? failed : base::aoti_torch_zero_(self);
}

std::span<const aoti::Shim> item_shims() {
#define TENON_METAL_ITEM(suffix, type, number)                                                  \
  aoti::Shim{                                                                                   \
      "aoti_torch_item_" #suffix,                                                               \
      reinterpret_cast<const void*>(+[](ModelTensor* tensor, type* out) noexcept -> ShimError { \
        const ShimError failed =                                                                \
            aoti::shim_call("aoti_torch_item_" #suffix, [&] { return wait_for(*tensor); });     \
        if (failed != aoti::shim_ok) return failed;                                             \
        return base::aoti_torch_item_##suffix(tensor, out);                                     \
      })},
  static const aoti::Shim list[] = {TENON_AOTI_ITEMS(TENON_METAL_ITEM) TENON_METAL_ITEM(
      float16, Half, ScalarType::Half) TENON_METAL_ITEM(bfloat16, BFloat16, ScalarType::BFloat16)};
#undef TENON_METAL_ITEM
  return list;
}

namespace {

// [table]
const aoti::ShimTable& shim_table() {
  static const aoti::Shim own[] = {TENON_METAL_AOTI_KERNELS(TENON_AOTI_ENTRY)
                                       TENON_METAL_AOTI_DEVICE(TENON_AOTI_ENTRY)
                                           TENON_METAL_AOTI_TENSORS(TENON_AOTI_ENTRY)
                                               TENON_AOTI_ENTRY(aoti_torch_mps_shared_callback, )};
  static const aoti::ShimTable table{base::base(), base::host(), item_shims(), own};
  return table;
}
// [table]

}  // namespace

std::span<const aoti::Shim> metal_shims() { return shim_table().all(); }

const void* find_metal_shim(std::string_view name) { return shim_table().find(name); }

}  // namespace tenon::metal_aoti
