// SPDX-License-Identifier: MIT
#include "error.hpp"

#include <cstdint>
#include <string_view>

namespace tenon::python {

namespace nb = nanobind;

void set_error(const Status& failure) {
  try {
    const nb::object type = nb::module_::import_("tenon._error").attr("Error");
    const std::string_view name = error_name(failure.error());
    const std::string_view text = failure.text();
    const nb::object error =
        type(static_cast<std::uint32_t>(failure.error()), nb::str(name.data(), name.size()),
             nb::str(text.data(), text.size()));
    PyErr_SetObject(type.ptr(), error.ptr());
  } catch (nb::python_error& instead) {
    instead.restore();
  }
}

}  // namespace tenon::python
