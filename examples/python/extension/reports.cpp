// SPDX-License-Identifier: MIT
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "doctor.hpp"
#include "inspect.hpp"
#include "listing.hpp"
#include "long_work.hpp"
#include "registry.hpp"

namespace tenon::python {

namespace nb = nanobind;

namespace {

using Strings = std::vector<std::string>;

std::string plugins_json(const Registry& registry, Strings tags) {
  return take_interruptibly([backends = registry.registry, tags = std::move(tags)] {
    return Result<std::string>(list::to_json(list::make_listing(*backends, tags)));
  });
}

std::string doctor_json(const Registry& registry, std::string model,
                        std::optional<std::string> method, Strings plugins, Strings data,
                        bool prove) {
  doctor::Arguments arguments{std::move(model), std::move(method), std::move(plugins),
                              std::move(data)};
  arguments.prove = prove;
  return take_interruptibly(
      [arguments = std::move(arguments), find = search(registry.paths)]() -> Result<std::string> {
        doctor::Diagnosis diagnosis = doctor::diagnose(arguments, find);
        TENON_RETURN_IF_ERROR(std::move(diagnosis.failure));
        return doctor::to_json(diagnosis);
      });
}

std::string inspect_json(std::string plugin, bool load) {
  inspect::Arguments arguments;
  arguments.plugin = std::move(plugin);
  arguments.load = load;
  return take_interruptibly([arguments = std::move(arguments)]() -> Result<std::string> {
    inspect::Report report = inspect::inspect(arguments);
    TENON_RETURN_IF_ERROR(std::move(report.failure));
    return inspect::to_json(report);
  });
}

}  // namespace

void bind_reports(nb::module_& module) {
  module.def("plugins_json", &plugins_json, nb::arg("registry"), nb::arg("tags"));
  module.def("doctor_json", &doctor_json, nb::arg("registry"), nb::arg("model"),
             nb::arg("method").none(), nb::arg("plugins"), nb::arg("data"), nb::arg("prove"));
  module.def("inspect_json", &inspect_json, nb::arg("plugin"), nb::arg("load"));
}

}  // namespace tenon::python
