// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/c/tenon_host.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "tenon/core/args.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/host/c/impl/method.hpp"
#include "tenon/host/c/impl/outcome.hpp"

/// Inputs and outputs of a method, as the C interface has them.
namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

inline constexpr std::size_t max_dlpack_rank = 16;
inline constexpr std::uint64_t dlpack_read_only = 1;  // DLPACK_FLAG_BITMASK_READ_ONLY
inline constexpr std::int32_t dlpack_cuda_host = 3;   // Pinned memory of the host.

[[nodiscard]] inline const ScalarTypeInfo* find_dl_dtype(tenon_dl_dtype dtype) noexcept {
  for (const ScalarTypeInfo& info : scalar_types) {
    // The quantized and Bits types are all opaque: no array library has them.
    if (info.dl.code == dtype.code && info.dl.bits == dtype.bits && info.dl.lanes == dtype.lanes &&
        dtype.code != TENON_DL_OPAQUE) {
      return &info;
    }
  }
  return nullptr;
}

/// A tensor of an application, as `Method::set_input` takes it.
[[nodiscard]] inline Result<InputTensor> to_input(std::string_view function,
                                                  const tenon_dl_tensor& from) {
  const ScalarTypeInfo* const type = find_dl_dtype(from.dtype);
  if (!type) {
    return error(Error::InvalidArgument, function,
                 ": expected elements of a type of ExecuTorch, found DLPack's type code ",
                 static_cast<unsigned>(from.dtype.code), " with ",
                 static_cast<unsigned>(from.dtype.bits), " bits in ",
                 static_cast<unsigned>(from.dtype.lanes), " lanes");
  }
  if (from.ndim < 0 || static_cast<std::size_t>(from.ndim) > max_dlpack_rank) {
    return error(Error::InvalidArgument, function, ": expected 0 to ", max_dlpack_rank,
                 " dimensions, found ", from.ndim);
  }
  if (from.ndim != 0) TENON_RETURN_IF_ERROR(expect_given(function, given("shape", from.shape)));
  const std::span<const std::int64_t> sizes(from.shape, static_cast<std::size_t>(from.ndim));
  std::uint64_t nbytes = type->size;
  for (const std::int64_t size : sizes) {
    if (size < 0) return error(Error::InvalidArgument, function, ": a size is ", size);
    nbytes *= static_cast<std::uint64_t>(size);
  }
  const auto* data = static_cast<const std::byte*>(from.data);
  if (data) data += from.byte_offset;
  if (!data && nbytes != 0) return error(Error::InvalidArgument, function, ": data is null");
  tenon_dl_device device = from.device;
  if (device.device_type == dlpack_cuda_host) device = {TENON_DL_CPU, 0};
  return InputTensor{type->type, sizes, {data, static_cast<std::size_t>(nbytes)}, device};
}

/// Checks that `from` has dense strides in the dim order of `declared`, which has the same rank.
/// Strides of dimensions with one element or none do not matter.
[[nodiscard]] inline Status check_dense(std::string_view function, const tenon_dl_tensor& from,
                                        const tenon_tensor& declared) {
  if (from.ndim != declared.dl.ndim) return ok();  // Reported with the sizes.
  const auto rank = static_cast<std::size_t>(from.ndim);
  std::array<std::int64_t, max_dlpack_rank> strides{};
  for (std::size_t i = rank; i-- > 0;) {
    if (from.shape[i] == 0) return ok();
    const std::int64_t row_major = i + 1 == rank ? 1 : strides[i + 1] * from.shape[i + 1];
    strides[i] = from.strides ? from.strides[i] : row_major;
  }
  std::int64_t expected = 1;
  for (std::size_t i = rank; i-- > 0;) {
    const std::size_t dim = declared.dim_order[i];
    if (from.shape[dim] != 1 && strides[dim] != expected) {
      return error(Error::InvalidArgument, function, ": expected dense elements in the dim order ",
                   "of the program, with stride ", expected, " in dimension ", dim, ", found ",
                   strides[dim], "; pass a contiguous copy");
    }
    expected *= from.shape[dim];
  }
  return ok();
}

/// Sets an input, and returns where its bytes are.
[[nodiscard]] inline Result<std::span<const std::byte>> set_tensor(std::string_view function,
                                                                   tenon_method& method,
                                                                   std::uint64_t index,
                                                                   const tenon_dl_tensor& tensor) {
  const auto at = static_cast<std::size_t>(index);
  if (!method.is_running) method.free_sessions();
  TENON_TRY(const InputTensor input, to_input(function, tensor));
  if (at < method.method->num_inputs()) {
    const tenon_value& declared = method.method->input(at);
    if (declared.kind == TENON_VALUE_TENSOR) {
      TENON_RETURN_IF_ERROR(check_dense(function, tensor, *declared.as.tensor));
    }
  }
  TENON_RETURN_IF_ERROR(method.method->set_input(at, input));
  return input.bytes;
}

[[nodiscard]] inline Status set_value(std::string_view function, tenon_method& method,
                                      std::size_t index, const tenon_value& from) {
  tenon_value value{};
  TENON_RETURN_IF_ERROR(read_struct(function, from, value));
  switch (value.kind) {
    case TENON_VALUE_INT:
      return method.method->set_input(index, InputScalar(value.as.integer));
    case TENON_VALUE_DOUBLE:
      return method.method->set_input(index, InputScalar(value.as.real));
    case TENON_VALUE_BOOL:
      return method.method->set_input(index, InputScalar(value.as.boolean != 0));
    case TENON_VALUE_STRING: {
      const tenon_span text = value.as.span;
      if (text.size != 0) TENON_RETURN_IF_ERROR(expect_given(function, given("data", text.data)));
      return method.method->set_input(
          index, InputScalar(std::string_view(static_cast<const char*>(text.data),
                                              static_cast<std::size_t>(text.size))));
    }
    default:
      return error(Error::InvalidArgument, function,
                   ": expected a value of kind Int, Double, Bool or String, found ",
                   value_kind_name(value.kind));
  }
}

/// A view of an output, and the owner of its bytes.
struct ExportedOutput {
  tenon_dl_managed_tensor managed{};
  std::shared_ptr<const void> owner;
  std::unique_ptr<std::int64_t[]> sizes_and_strides;

  static void TENON_CALL destroy(tenon_dl_managed_tensor* managed) { delete of(managed); }
  /// Null for a tensor of another library.
  static ExportedOutput* of(tenon_dl_managed_tensor* managed) noexcept {
    return managed->deleter == &destroy ? static_cast<ExportedOutput*>(managed->manager_ctx)
                                        : nullptr;
  }
};

/// The owner of an output's bytes: the method, or the owner of an input that the method passes on.
[[nodiscard]] inline std::shared_ptr<const void> owner_of(tenon_method& method,
                                                          const tenon_dl_tensor& output) {
  const auto* const data = static_cast<const std::byte*>(output.data) + output.byte_offset;
  for (const KeptInput& input : method.kept) {
    if (!input.owner || std::less<>()(data, input.bytes.data())) continue;
    if (std::less<>()(data, input.bytes.data() + input.bytes.size())) return input.owner;
  }
  method.hold();
  return {&method, [](tenon_method* held) { held->release(); }};
}

/// Hands `tensor` over to the method. An exported output is not kept itself, but what keeps its
/// bytes: an output that is passed on in each run has one owner, and no chain of them.
[[nodiscard]] inline Status set_managed(std::string_view function, tenon_method& method,
                                        std::uint64_t index, tenon_dl_managed_tensor& tensor) {
  ExportedOutput* const exported = ExportedOutput::of(&tensor);
  const auto managed = exported ? nullptr : std::make_shared<ManagedTensor>();
  TENON_TRY(const auto bytes, set_tensor(function, method, index, tensor.dl_tensor));
  KeptInput& kept = method.kept[static_cast<std::size_t>(index)];
  if (managed) managed->reset(&tensor);
  kept = {exported ? exported->owner : managed, bytes};
  if (exported) ExportedOutput::destroy(&tensor);
  return ok();
}

[[nodiscard]] inline Result<tenon_dl_managed_tensor*> export_output(std::string_view function,
                                                                    tenon_method& method,
                                                                    std::size_t index) {
  if (index >= method.method->num_outputs()) {
    return error(Error::InvalidArgument, function, ": expected an index below ",
                 method.method->num_outputs(), ", found ", index);
  }
  const tenon_value& value = method.method->output(index);
  if (value.kind != TENON_VALUE_TENSOR) {
    return error(Error::InvalidArgument, function, ": output ", index, " is of kind ",
                 value_kind_name(value.kind), ", expected a tensor");
  }
  const tenon_dl_tensor& from = value.as.tensor->dl;
  if (!from.data && value.as.tensor->nbytes != 0) {
    return error(Error::InvalidState, function, ": output ", index, " has no data");
  }
  auto out = std::make_unique<ExportedOutput>();
  const auto rank = static_cast<std::size_t>(from.ndim);
  out->sizes_and_strides = std::make_unique<std::int64_t[]>(2 * rank);
  std::int64_t* const sizes = out->sizes_and_strides.get();
  for (std::size_t i = 0; i < rank; ++i) {
    sizes[i] = from.shape[i];
    sizes[rank + i] = from.strides[i];
  }
  const bool is_constant = (value.as.tensor->flags & TENON_TENSOR_CONSTANT) != 0;
  out->managed = {1,   1, out.get(), &ExportedOutput::destroy, is_constant ? dlpack_read_only : 0,
                  from};
  out->managed.dl_tensor.shape = sizes;
  out->managed.dl_tensor.strides = sizes + rank;
  out->owner = owner_of(method, from);
  return &out.release()->managed;
}

}}}  // namespace tenon::TENON_RELEASE::host::detail

tenon_status TENON_CALL tenon_method_set_input(tenon_method* method, uint64_t index,
                                               const tenon_dl_tensor* tensor, tenon_error** error) {
  using namespace tenon::host::detail;
  constexpr std::string_view function = "tenon_method_set_input";
  return guarded(error, [&]() -> tenon::Status {
    TENON_RETURN_IF_ERROR(expect_given(function, given("method", method), given("tensor", tensor)));
    TENON_TRY(const auto bytes, set_tensor(function, *method, index, *tensor));
    method->kept[static_cast<std::size_t>(index)] = {nullptr, bytes};
    return tenon::ok();
  });
}

tenon_status TENON_CALL tenon_method_set_input_managed(tenon_method* method, uint64_t index,
                                                       tenon_dl_managed_tensor* tensor,
                                                       tenon_error** error) {
  using namespace tenon::host::detail;
  constexpr std::string_view function = "tenon_method_set_input_managed";
  return guarded(error, [&]() -> tenon::Status {
    TENON_RETURN_IF_ERROR(expect_given(function, given("method", method), given("tensor", tensor)));
    if (tensor->major != 1) {
      return tenon::error(tenon::Error::NotSupported, function,
                          ": expected DLPack 1, found DLPack ", tensor->major);
    }
    if ((tensor->flags & dlpack_read_only) != 0 && tenon_method_writes_input(method, index) != 0) {
      return tenon::error(tenon::Error::InvalidArgument, function, ": the program writes to input ",
                          index, ": expected a writable tensor, found a read-only one");
    }
    return set_managed(function, *method, index, *tensor);
  });
}

tenon_status TENON_CALL tenon_method_set_input_value(tenon_method* method, uint64_t index,
                                                     const tenon_value* value,
                                                     tenon_error** error) {
  using namespace tenon::host::detail;
  constexpr std::string_view function = "tenon_method_set_input_value";
  return guarded(error, [&]() -> tenon::Status {
    TENON_RETURN_IF_ERROR(expect_given(function, given("method", method), given("value", value)));
    return set_value(function, *method, static_cast<std::size_t>(index), *value);
  });
}

tenon_status TENON_CALL tenon_method_set_output(tenon_method* method, uint64_t index, void* data,
                                                uint64_t nbytes, tenon_dl_device device,
                                                tenon_error** error) {
  using namespace tenon::host::detail;
  return guarded(error, [&]() -> tenon::Status {
    constexpr std::string_view function = "tenon_method_set_output";
    TENON_RETURN_IF_ERROR(expect_given(function, given("method", method)));
    if (nbytes != 0) TENON_RETURN_IF_ERROR(expect_given(function, given("data", data)));
    return method->method->set_output(
        static_cast<std::size_t>(index),
        {static_cast<std::byte*>(data), static_cast<std::size_t>(nbytes)}, device);
  });
}

const tenon_value* TENON_CALL tenon_method_get_input(const tenon_method* method, uint64_t index) {
  if (!method || index >= method->method->num_inputs()) return nullptr;
  return &method->method->input(static_cast<std::size_t>(index));
}

const tenon_value* TENON_CALL tenon_method_get_output(const tenon_method* method, uint64_t index) {
  if (!method || index >= method->method->num_outputs()) return nullptr;
  return &method->method->output(static_cast<std::size_t>(index));
}

tenon_status TENON_CALL tenon_method_export_output(tenon_method* method, uint64_t index,
                                                   tenon_dl_managed_tensor** out,
                                                   tenon_error** error) {
  using namespace tenon::host::detail;
  constexpr std::string_view function = "tenon_method_export_output";
  return guarded(error, [&]() -> tenon::Status {
    TENON_RETURN_IF_ERROR(expect_given(function, given("method", method), given("out", out)));
    TENON_TRY(*out, export_output(function, *method, static_cast<std::size_t>(index)));
    return tenon::ok();
  });
}

tenon_status TENON_CALL tenon_method_read_output(const tenon_method* method, uint64_t index,
                                                 void* to, uint64_t nbytes, tenon_error** error) {
  using namespace tenon::host::detail;
  return guarded(error, [&]() -> tenon::Status {
    constexpr std::string_view function = "tenon_method_read_output";
    TENON_RETURN_IF_ERROR(expect_given(function, given("method", method)));
    if (nbytes != 0) TENON_RETURN_IF_ERROR(expect_given(function, given("to", to)));
    return method->method->read_output(
        static_cast<std::size_t>(index),
        {static_cast<std::byte*>(to), static_cast<std::size_t>(nbytes)});
  });
}
