// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/core/status.hpp"
#include "tenon/host/backend_registry.hpp"

namespace tenon::python {

/// Raises `status`, which is a failure, as the Python exception `tenon.Error`.
[[noreturn]] void raise(const Status& status);

/// The value of `result`, or the exception.
template <class T>
[[nodiscard]] T take(Result<T> result) {
  if (!result.ok()) raise(std::move(result).status());
  return *std::move(result);
}

/// A registry with the plugin files, which finds others as every host does. `installed` is the
/// directory of installed plugins; empty: this host's.
[[nodiscard]] std::shared_ptr<host::BackendRegistry> open_registry(
    const std::vector<std::string>& plugins, const std::string& installed);

/// Adds `AotiExport` to the module, for `tenon.aoti`.
void bind_aoti(nanobind::module_& module);

/// Adds `merge_variants` and `strip_variants` to the module; the functions of `tenon` call them.
void bind_merge(nanobind::module_& module);

/// Adds `pack` to the module, the body of `tenon.pack`.
void bind_pack(nanobind::module_& module);

}  // namespace tenon::python
