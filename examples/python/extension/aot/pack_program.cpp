// SPDX-License-Identifier: MIT
#include "module.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../interpreter.hpp"
#include "pack.hpp"
#include "tenon/aot/compiler/emit/tensor_text.hpp"
#include "tenon/aot/compiler/write/pte_writer.hpp"
#include "tenon/aot/shared_bytes.hpp"

namespace nb = nanobind;

namespace tenon::python {

namespace {

/// A file's bytes for a text, which is its path; of `bytes` those themselves, borrowed.
aot::SharedBytes read(nb::handle source) {
  if (nb::isinstance<nb::str>(source)) return take(pack::read_bytes(nb::cast<std::string>(source)));
  const auto bytes = nb::cast<nb::bytes>(source);
  return aot::SharedBytes::borrow(
      std::as_bytes(std::span(static_cast<const char*>(bytes.data()), bytes.size())), nullptr);
}

void write_program(nb::handle blob, const std::string& backend, const std::string& program,
                   const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                   const nb::list& specs, const nb::list& data, const std::string& method) {
  pack::Call call{.backend = backend,
                  .method = method,
                  .blob = read(blob),
                  .inputs = take(aot::parse_tensors(inputs, "inputs")),
                  .outputs = take(aot::parse_tensors(outputs, "outputs")),
                  .specs = {},
                  .data = {}};
  for (const nb::handle pair : specs) {
    call.specs.push_back({nb::cast<std::string>(pair[0]), read(pair[1])});
  }
  for (const nb::handle pair : data) {
    call.data.emplace_back(nb::cast<std::string>(pair[0]), read(pair[1]));
  }
  const Status written = [&]() -> Status {
    const ReleasedGil released;
    TENON_TRY(const aot::ProgramData described, aot::make_program(call));
    return aot::write_pte(described, std::filesystem::path(program));
  }();
  if (!written.ok()) raise(written);
}

}  // namespace

void bind_pack(nb::module_& module) { module.def("pack", &write_program); }

}  // namespace tenon::python
