// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "tenon/abi/backend.h"
#include "tenon/core/bytes.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/struct_size.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// Name of a kind of value, as ExecuTorch's `Tag` spells it.
[[nodiscard]] constexpr std::string_view value_kind_name(std::uint32_t kind) noexcept {
  constexpr std::string_view names[] = {
      "None",     "Tensor",     "String",  "Double",     "Int",        "Bool",
      "ListBool", "ListDouble", "ListInt", "ListTensor", "ListScalar", "ListOptionalTensor"};
  return kind < std::size(names) ? names[kind] : std::string_view("?");
}

/// Whether a backend reads the bytes of a tensor or writes them.
enum class Access : std::uint8_t { Read, Write };

/// The orders of dimensions in memory that a backend accepts: the order of the dimensions
/// themselves, or any (channels-last too), for a backend that looks at `TensorView::dim_order`.
enum class Layout : std::uint8_t { Contiguous, Any };

namespace detail {

/// Whether the elements of `tensor` are `wanted`, in the memory of the CPU, and may be accessed so.
[[nodiscard]] inline bool is_accessible(const tenon_tensor& tensor, ScalarType wanted,
                                        Access access) noexcept {
  return tensor.scalar_type == static_cast<std::int32_t>(wanted) &&
         tensor.dl.device.device_type == TENON_DL_CPU &&
         (access == Access::Read || (tensor.flags & TENON_TENSOR_CONSTANT) == 0) &&
         (tensor.dl.data != nullptr || tensor.nbytes == 0);
}

/// The failure for a tensor that is not accessible: `role` is "argument" for an author of a backend
/// and "output" for a host.
[[nodiscard]] inline Status refuse_tensor(std::string_view role, std::size_t index,
                                          const tenon_tensor& tensor, ScalarType wanted) {
  if (tensor.scalar_type != static_cast<std::int32_t>(wanted)) {
    return error(Error::InvalidType, role, " ", index, ": expected dtype ", name_of(wanted),
                 ", found ", name_of(static_cast<ScalarType>(tensor.scalar_type)));
  }
  if (tensor.dl.device.device_type != TENON_DL_CPU) {
    return error(Error::NotSupported, role, " ", index,
                 ": expected CPU memory, found DLPack device type ", tensor.dl.device.device_type);
  }
  if (tensor.dl.data == nullptr) {
    return error(Error::InvalidArgument, role, " ", index, ": expected ", tensor.nbytes,
                 " bytes of data, found none");
  }
  return error(Error::NotSupported, role, " ", index,
               ": expected a tensor that may be written, found a constant of the program");
}

[[nodiscard]] inline Status refuse_layout(std::string_view role, std::size_t index,
                                          const TensorView& tensor) {
  return error(Error::NotSupported, role, " ", index,
               ": expected dimensions in memory in their own order, found dim order ",
               dim_order_text(tensor.dim_order()));
}

}  // namespace detail

/// A CPU tensor whose dtype was compared at run time, for code that passes addresses on: to a
/// library that takes `void*`, a shape and a dtype of its own. Made by
/// `Args::tensor(index, dtype, access)`. Valid until `execute` returns.
class TensorBytes : public TensorView {
 public:
  explicit TensorBytes(const tenon_tensor& tensor) noexcept : TensorView(tensor) {}

  /// First byte, aligned to the size of an element and no more (TN-TEN-4); null only when there are
  /// no elements. Written to only if the tensor was asked for with Access::Write (TN-TEN-1).
  [[nodiscard]] void* data() const noexcept {
    auto* base = static_cast<std::byte*>(raw().dl.data);
    return base ? base + raw().dl.byte_offset : nullptr;
  }
};

/// Arguments of one call: inputs first, then outputs, in the order in which the blob was lowered.
/// The list does not say where the outputs begin; the blob does (ExecuTorch: BackendInterface).
///
/// Every accessor checks the index and the kind, and that a tensor has elements of one lane, so
/// that a blob that does not fit its program is an error and never a read out of bounds. Valid
/// until `execute` returns.
class Args {
 public:
  Args(const tenon_host* host, tenon_value* const* values, std::size_t count) noexcept
      : host_(host), values_(values), count_(count) {}

  [[nodiscard]] std::size_t size() const noexcept { return count_; }

  /// Kind of argument `index` (TENON_VALUE_...), or None above the end.
  [[nodiscard]] std::uint32_t kind(std::size_t index) const noexcept {
    return index < count_ ? values_[index]->kind : static_cast<std::uint32_t>(TENON_VALUE_NONE);
  }

  /// Fails unless there are exactly `count` arguments.
  [[nodiscard]] Status expect(std::size_t count) const {
    if (count_ == count) [[likely]]
      return ok();
    return error(Error::InvalidArgument, "number of arguments: expected ", count, ", found ",
                 count_);
  }

  /// Fails with InvalidArgument unless argument `index` is a tensor of `rank` dimensions.
  [[nodiscard]] Status expect_rank(std::size_t index, std::size_t rank) const {
    TENON_RETURN_IF_ERROR(check_tensor(index));
    const TensorView tensor(*values_[index]->as.tensor);
    if (tensor.rank() == rank) [[likely]]
      return ok();
    return error(Error::InvalidArgument, "argument ", index, ": expected rank ", rank, ", found ",
                 layout_text(tensor));
  }

  /// Fails with InvalidArgument unless argument `index` is a tensor with the sizes and the order in
  /// memory of `like` (`same_layout`).
  [[nodiscard]] Status expect_layout(std::size_t index, const TensorView& like) const {
    TENON_RETURN_IF_ERROR(check_tensor(index));
    const TensorView tensor(*values_[index]->as.tensor);
    if (same_layout(tensor, like)) [[likely]]
      return ok();
    return error(Error::InvalidArgument, "argument ", index, ": expected ", layout_text(like),
                 ", found ", layout_text(tensor));
  }

  /// Argument `index` as a tensor of any dtype on any device.
  [[nodiscard]] Result<TensorView> tensor(std::size_t index) const {
    TENON_RETURN_IF_ERROR(check_tensor(index));
    return TensorView(*values_[index]->as.tensor);
  }

  /// Argument `index` as a CPU tensor of `T`: `tensor<const float>(0)` to read it,
  /// `tensor<float>(2)` to write it. Fails with InvalidArgument (no such argument, not a tensor, no
  /// data), InvalidType (another dtype) or NotSupported (on a device; writing to a constant).
  template <class T>
    requires Element<std::remove_const_t<T>>
  [[nodiscard]] Result<Tensor<T>> tensor(std::size_t index) const {
    TENON_RETURN_IF_ERROR(check_tensor(index));
    const tenon_tensor& tensor = *values_[index]->as.tensor;
    constexpr ScalarType wanted = *scalar_type_of<std::remove_const_t<T>>;
    constexpr Access access = std::is_const_v<T> ? Access::Read : Access::Write;
    if (!detail::is_accessible(tensor, wanted, access)) [[unlikely]] {
      return detail::refuse_tensor("argument", index, tensor, wanted);
    }
    return Tensor<T>(tensor);
  }

  /// Argument `index` as a CPU tensor of a dtype that is known at run time alone, such as the dtype
  /// of a wrapped runtime's port: `tensor(i, port.dtype, Access::Read)`. Checks everything that has
  /// to be checked before the address is passed on. Fails with InvalidArgument (no such argument,
  /// not a tensor, no data), InvalidType (another dtype) or NotSupported (on a device; writing to a
  /// constant; dimensions in another order in memory, unless `layout` is Layout::Any).
  [[nodiscard]] Result<TensorBytes> tensor(std::size_t index, ScalarType dtype, Access access,
                                           Layout layout = Layout::Contiguous) const {
    TENON_RETURN_IF_ERROR(check_tensor(index));
    const TensorBytes tensor(*values_[index]->as.tensor);
    if (!detail::is_accessible(tensor.raw(), dtype, access)) [[unlikely]] {
      return detail::refuse_tensor("argument", index, tensor.raw(), dtype);
    }
    if (layout == Layout::Contiguous && !tensor.is_contiguous()) [[unlikely]] {
      return detail::refuse_layout("argument", index, tensor);
    }
    return tensor;
  }

  [[nodiscard]] Result<std::int64_t> integer(std::size_t index) const {
    TENON_RETURN_IF_ERROR(check(index, TENON_VALUE_INT));
    return values_[index]->as.integer;
  }
  [[nodiscard]] Result<double> real(std::size_t index) const {
    TENON_RETURN_IF_ERROR(check(index, TENON_VALUE_DOUBLE));
    return values_[index]->as.real;
  }
  [[nodiscard]] Result<bool> boolean(std::size_t index) const {
    TENON_RETURN_IF_ERROR(check(index, TENON_VALUE_BOOL));
    return values_[index]->as.boolean != 0;
  }
  [[nodiscard]] Result<std::string_view> string(std::size_t index) const {
    TENON_RETURN_IF_ERROR(check(index, TENON_VALUE_STRING));
    const tenon_span& span = values_[index]->as.span;
    return std::string_view(static_cast<const char*>(span.data),
                            static_cast<std::size_t>(span.size));
  }
  [[nodiscard]] Result<std::span<const double>> double_list(std::size_t index) const {
    TENON_RETURN_IF_ERROR(check(index, TENON_VALUE_DOUBLE_LIST));
    const tenon_span& span = values_[index]->as.span;
    return std::span(static_cast<const double*>(span.data), static_cast<std::size_t>(span.size));
  }
  /// One byte an element, 0 or 1.
  [[nodiscard]] Result<std::span<const std::uint8_t>> bool_list(std::size_t index) const {
    TENON_RETURN_IF_ERROR(check(index, TENON_VALUE_BOOL_LIST));
    const tenon_span& span = values_[index]->as.span;
    return std::span(static_cast<const std::uint8_t*>(span.data),
                     static_cast<std::size_t>(span.size));
  }
  /// Elements of a list of integers, as an argument list of its own: `list(3).integer(0)`. Lists of
  /// tensors are read in this way, too; an element of an optional list may be of kind None.
  [[nodiscard]] Result<Args> list(std::size_t index) const {
    if (index < count_) {
      const std::uint32_t found = values_[index]->kind;
      if (found == TENON_VALUE_INT_LIST || found == TENON_VALUE_TENSOR_LIST ||
          found == TENON_VALUE_OPTIONAL_TENSOR_LIST) {
        const tenon_span& span = values_[index]->as.span;
        return Args(host_, static_cast<tenon_value* const*>(span.data),
                    static_cast<std::size_t>(span.size));
      }
    }
    return check(index, TENON_VALUE_INT_LIST);
  }

  /// Gives tensor `index` new sizes, within its bounds. Call it before writing to an output whose
  /// shape is dynamic; the same sizes again cost a comparison. Fails with NotSupported when the
  /// rank or a static shape would change or the bounds would be passed; nothing changes then.
  [[nodiscard]] Status resize(std::size_t index, std::span<const std::int64_t> sizes) const {
    TENON_RETURN_IF_ERROR(check_tensor(index));
    tenon_tensor& tensor = *values_[index]->as.tensor;
    if (detail::are_equal(sizes, TensorView(tensor).sizes())) return ok();
    const tenon_status status = host_->resize_tensor(host_, &tensor, sizes.data(),
                                                     static_cast<std::uint32_t>(sizes.size()));
    if (status == TENON_STATUS_OK) return ok();
    return error(error_from_status(status), "argument ", index, ": cannot resize ",
                 shape_text(TensorView(tensor).sizes()), " to ", shape_text(sizes), ", bounds are ",
                 shape_text(TensorView(tensor).bounds()));
  }

  /// The values themselves, for code that passes them on.
  [[nodiscard]] std::span<tenon_value* const> raw() const noexcept { return {values_, count_}; }

 private:
  [[nodiscard]] Status check(std::size_t index, std::uint32_t wanted) const {
    if (index < count_ && values_[index]->kind == wanted) [[likely]]
      return ok();
    if (index >= count_) {
      return error(Error::InvalidArgument, "argument ", index, ": expected ",
                   value_kind_name(wanted), ", found only ", count_, " arguments");
    }
    return error(Error::InvalidArgument, "argument ", index, ": expected ", value_kind_name(wanted),
                 ", found ", value_kind_name(values_[index]->kind));
  }

  /// ScalarType has no lanes: a tensor that has several is no tensor of a program.
  [[nodiscard]] Status check_tensor(std::size_t index) const {
    TENON_RETURN_IF_ERROR(check(index, TENON_VALUE_TENSOR));
    const std::uint16_t lanes = values_[index]->as.tensor->dl.dtype.lanes;
    if (lanes == 1) [[likely]]
      return ok();
    return error(Error::InvalidType, "argument ", index, ": expected elements of 1 lane, found ",
                 lanes);
  }

  const tenon_host* host_;
  tenon_value* const* values_;
  std::size_t count_;
};

}}  // namespace tenon::TENON_RELEASE
