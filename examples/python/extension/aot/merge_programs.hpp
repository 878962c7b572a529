// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

namespace tenon::python {

/// Adds `merge_variants` and `strip_variants` to the module, the bodies of those of `tenon`.
void bind_merge(nanobind::module_& module);

}  // namespace tenon::python
