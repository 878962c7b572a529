// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include "method.hpp"

namespace tenon::python {

/// `tenon.Intermediate`, and the functions of `tenon.Method` that are about them.
void bind_intermediates(nanobind::module_& module, nanobind::class_<MethodObject>& method);

}  // namespace tenon::python
