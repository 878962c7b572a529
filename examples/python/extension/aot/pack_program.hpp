// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

namespace tenon::python {

/// Adds `pack` to the module, the body of `tenon.pack`.
void bind_pack(nanobind::module_& module);

}  // namespace tenon::python
