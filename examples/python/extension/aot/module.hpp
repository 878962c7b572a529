// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include "tenon/core/result.hpp"
#include "tenon/core/status.hpp"

namespace tenon::python {

/// Raises `status`, which is a failure, as the Python exception `tenon.Error`.
[[noreturn]] void raise(const Status& status);

/// The value of `result`, or the exception.
template <class T>
[[nodiscard]] T take(Result<T> result) {
  if (!result.ok()) raise(std::move(result).status());
  return *std::move(result);
}

/// Adds `merge_variants` and `strip_variants` to the module; the functions of `tenon` call them.
void bind_merge(nanobind::module_& module);

/// Adds `pack` to the module, the body of `tenon.pack`.
void bind_pack(nanobind::module_& module);

}  // namespace tenon::python
