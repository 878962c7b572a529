// SPDX-License-Identifier: MIT
//
// The extension module `tenon._tenon`: what the package `tenon` is written in.
#include <nanobind/nanobind.h>

#include "array.hpp"
#include "interpreter.hpp"
#include "long_work.hpp"
#include "method.hpp"
#include "program.hpp"
#include "registry.hpp"
#include "tenon/abi/version.h"

namespace nb = nanobind;

TENON_PYTHON_MODULE(_tenon, module) {
  module.doc() = "The parts of the package tenon that are written in C++.";
  module.attr("__version__") = TENON_VERSION_STRING;
  // Objects of daemon threads are alive when the interpreter ends, which is no news to a user.
  nb::set_leak_warnings(nb::cast<bool>(nb::module_::import_("sys").attr("flags").attr("dev_mode")));
  tenon::python::bind_array(module);
  tenon::python::bind_registry(module);
  tenon::python::bind_method(module);
  tenon::python::bind_program(module);
  tenon::python::bind_reports(module);
  nb::module_::import_("atexit").attr("register")(
      nb::cpp_function(&tenon::python::wait_for_interrupted_work));
}
