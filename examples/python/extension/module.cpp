// SPDX-License-Identifier: MIT
//
// The extension module `tenon._tenon`: what the package `tenon` is written in.
#include <nanobind/nanobind.h>
#include <tenon/abi/version.h>

namespace nb = nanobind;

NB_MODULE(_tenon, module) { module.attr("__version__") = TENON_VERSION_STRING; }
