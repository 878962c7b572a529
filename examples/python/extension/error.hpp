// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <utility>

#include "tenon/core/result.hpp"
#include "tenon/core/status.hpp"

namespace tenon::python {

/// Sets `tenon.Error` with the number, name and text of `failure` as Python's current exception.
void set_error(const Status& failure);

/// Throws `tenon.Error`.
[[noreturn]] inline void raise(const Status& failure) {
  set_error(failure);
  throw nanobind::python_error();
}

/// The name of the type of `object`, without its module.
[[nodiscard]] inline std::string name_of_type(nanobind::handle object) {
  return nanobind::str(object.type().attr("__name__")).c_str();
}

inline void check(const Status& outcome) {
  if (!outcome.ok()) [[unlikely]]
    raise(outcome);
}

/// The value of a result, or `tenon.Error`.
template <class T>
[[nodiscard]] T take(Result<T> result) {
  if (!result.ok()) raise(std::move(result).status());
  return *std::move(result);
}

}  // namespace tenon::python
