// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "dlpack.hpp"
#include "tenon/core/scalar_type.hpp"

namespace tenon::python {

/// Ranks above this are not supported (ExecuTorch: kTensorDimensionLimit).
inline constexpr std::size_t max_rank = 16;

/// The memory of an array of another library, held while it is used. Nothing is copied.
///
/// Reads, in this order: types with DLPack's C exchange API (torch), the buffer protocol (NumPy),
/// `ml_dtypes` arrays of NumPy, and `__dlpack__` (CuPy, JAX). The GIL must be held in all
/// functions.
class InputArray {
 public:
  InputArray() noexcept = default;
  ~InputArray() { release(); }
  InputArray(const InputArray&) = delete;
  InputArray& operator=(const InputArray&) = delete;

  /// Takes hold of the memory of `object`, which may be anything. Throws TypeError, preceded by
  /// `where`, when it is no array, and what the other library raises.
  void hold(PyObject* object, std::string_view where);

  void release() noexcept;

  [[nodiscard]] ScalarType type() const noexcept { return type_; }
  [[nodiscard]] std::span<const std::int64_t> sizes() const noexcept { return {sizes_, rank_}; }
  [[nodiscard]] std::span<const std::int64_t> strides() const noexcept {
    return {strides_.data(), rank_};
  }
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  /// Bytes of all elements, were they dense.
  [[nodiscard]] std::size_t nbytes() const noexcept { return nbytes_; }
  [[nodiscard]] tenon_dl_device device() const noexcept { return device_; }
  [[nodiscard]] bool is_read_only() const noexcept { return read_only_; }

  /// Whether the elements are dense in the order of `dim_order`, which has `sizes().size()`
  /// entries.
  [[nodiscard]] bool is_dense(const std::uint8_t* dim_order) const noexcept;

 private:
  bool hold_by_exchange_api(PyObject* object, std::string_view where);
  void read_buffer(std::string_view where);
  void read_tensor(const tenon_dl_tensor& tensor, std::string_view where);
  void read_shape(std::int64_t rank, const std::int64_t* sizes, std::string_view where);
  void set_dense_strides() noexcept;
  bool hold_extended_type(PyObject* object, std::string_view where);
  bool hold_dlpack(PyObject* object, std::string_view where);

  enum class Holds { nothing, buffer, managed, versioned };

  Holds holds_ = Holds::nothing;
  bool read_only_ = false;
  ScalarType type_ = ScalarType::Byte;
  std::size_t rank_ = 0;
  const std::int64_t* sizes_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t nbytes_ = 0;
  tenon_dl_device device_{TENON_DL_CPU, 0};
  std::array<std::int64_t, max_rank> strides_;  // In elements.
  Py_buffer buffer_;
  void* managed_ = nullptr;
};

}  // namespace tenon::python
