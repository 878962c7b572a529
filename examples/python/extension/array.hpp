// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "input_array.hpp"
#include "tenon/abi/tensor.h"
#include "tenon/core/scalar_type.hpp"

namespace tenon::python {

struct FreeRawMemory {
  void operator()(std::byte* bytes) const noexcept {
#ifdef Py_LIMITED_API
    std::free(bytes);
#else
    PyMem_RawFree(bytes);
#endif
  }
};
/// Memory of the allocator of Python that needs no GIL, whose debug mode (PYTHONMALLOC) checks what
/// is written there; with the stable ABI, which has that one from 3.13 on, of the C library.
using RawMemory = std::unique_ptr<std::byte[], FreeRawMemory>;

/// Uninitialised; throws std::bad_alloc. Needs no GIL.
[[nodiscard]] RawMemory allocate_raw(std::size_t nbytes);

/// An output, or named data: a view of memory that it owns, or that another object keeps.
struct Array {
  ScalarType type = ScalarType::Byte;
  bool read_only = false;
  std::int32_t rank = 0;
  tenon_dl_device device{TENON_DL_CPU, 0};
  std::byte* data = nullptr;
  std::size_t nbytes = 0;
  RawMemory own;                      ///< Null when borrowed.
  std::shared_ptr<const void> owner;  ///< Of borrowed memory.
  bool is_part = false;               ///< Of an array with memory of its own, which `owner` is.
  std::array<Py_ssize_t, max_rank> sizes;
  std::array<Py_ssize_t, max_rank> strides;  ///< In bytes.
};

/// A view of `tensor`'s memory, which `owner` keeps.
[[nodiscard]] std::unique_ptr<Array> borrow_tensor(const tenon_tensor& tensor,
                                                   std::shared_ptr<const void> owner);

/// Uninitialised memory of the CPU for the elements of `tensor`. Needs no GIL.
[[nodiscard]] RawMemory allocate_like(const tenon_tensor& tensor);

/// An array with the layout of `tensor` and elements in `memory`.
[[nodiscard]] std::unique_ptr<Array> make_array(const tenon_tensor& tensor, RawMemory memory);

/// Bytes that `owner` keeps, read-only.
[[nodiscard]] std::unique_ptr<Array> borrow_bytes(std::span<const std::byte> bytes,
                                                  std::shared_ptr<const void> owner);

/// `array[index]` as NumPy has it for integers, slices with positive steps, and `...`: a view of
/// the array's memory, which keeps `self` alive, or a number for an element. In array_index.cpp.
[[nodiscard]] nanobind::object get_item(nanobind::handle self, const Array& array,
                                        nanobind::handle index);

void bind_array(nanobind::module_& module);

}  // namespace tenon::python
