// SPDX-License-Identifier: MIT
//
// The extension module `tenon._aot`: the ahead-of-time half of plugins, for `tenon.executorch`, and
// `tenon.pack`. Its functions are called by those alone, which check and document what a user
// passes.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../interpreter.hpp"
#include "compile_program.hpp"
#include "module.hpp"
#include "program_builder.hpp"
#include "tenon/aot/compiler/lower/edge_program_text.hpp"
#include "tenon/aot/compiler/partition/plugin_preprocess.hpp"
#include "tenon/core/error.hpp"
#include "tenon/host/backend_registry.hpp"
#include "tenon/host/isolation.hpp"
#include "tenon/host/layers/discovery/discovery.hpp"
#include "tenon/host/signatures.hpp"

namespace nb = nanobind;

namespace tenon::python {

void raise(const Status& status) {
  const nb::object type = nb::module_::import_("tenon._error").attr("Error");
  const std::string text(status.text());
  const nb::object failure = type(static_cast<std::uint32_t>(status.error()),
                                  std::string(error_name(status.error())), text);
  PyErr_SetObject(type.ptr(), failure.ptr());
  throw nb::python_error();
}

std::shared_ptr<host::BackendRegistry> open_registry(const std::vector<std::string>& plugins,
                                                     const std::string& installed) {
  auto out = std::make_shared<host::BackendRegistry>(
      host::HostInfo{.name = "tenon for Python " TENON_VERSION_STRING,
                     .gates = {host::environment_library_policy(), host::environment_isolation()}});
  for (const std::string& plugin : plugins) {
    const Status added = out->register_backend(std::filesystem::path(plugin));
    if (!added.ok()) raise(added);
  }
  host::DiscoveryOptions options;
  if (!installed.empty()) options.installed = installed;
  out->add_search([options] { return host::discover(options); });
  return out;
}

namespace {

using Specs = std::vector<aot::CompileSpecData>;

nb::bytes bytes_of(const aot::SharedBytes& bytes) {
  return nb::bytes(bytes.bytes().data(), bytes.size());
}

Specs specs_of(const nb::list& pairs) {
  Specs out;
  for (const nb::handle pair : pairs) {
    const auto value = nb::cast<nb::bytes>(pair[1]);
    out.push_back({nb::cast<std::string>(pair[0]),
                   aot::SharedBytes::copy_of(std::string_view(value.c_str(), value.size()))});
  }
  return out;
}

nb::list list_of(const Specs& specs) {
  nb::list out;
  for (const aot::CompileSpecData& spec : specs) {
    out.append(nb::make_tuple(spec.key, bytes_of(spec.value)));
  }
  return out;
}

nb::object debug_handles_of(const aot::DebugHandleMap& map) {
  if (map.empty()) return nb::none();
  nb::dict out;
  for (const aot::DebugHandleMap::Event& event : map.events()) {
    nb::list numbers;
    for (const std::uint32_t handle : event.handles) numbers.append(handle);
    out[event.name.empty() ? nb::cast(event.id) : nb::cast(event.name)] = nb::tuple(numbers);
  }
  return out;
}

nb::object layout_of(const std::optional<aot::DenseLayout>& layout) {
  if (!layout) return nb::none();
  return nb::make_tuple(static_cast<int>(layout->scalar_type), nb::cast(layout->sizes),
                        nb::cast(layout->full_dim_order()));
}

/// (key, bytes, alignment, tag or None, layout or None) each.
nb::list named_data_of(const aot::NamedDataStoreOutput& data) {
  nb::list out;
  const auto add = [&](const aot::NamedEntry& one, const nb::object& tag) {
    out.append(nb::make_tuple(one.key, bytes_of(data.buffers.at(one.entry.buffer_index)),
                              one.entry.alignment, tag, layout_of(one.entry.tensor_layout)));
  };
  for (const aot::NamedEntry& one : data.pte_data) add(one, nb::none());
  for (const aot::ExternalData& file : data.external_data) {
    for (const aot::NamedEntry& one : file.entries) add(one, nb::cast(file.tag));
  }
  return out;
}

template <class Call>
auto without_gil(const Call& call) {
  const ReleasedGil released;
  return call();
}

/// One backend's ahead-of-time half. Calls of the plugin run without the GIL.
class Backend {
 public:
  Backend(const std::string& id, const std::vector<std::string>& plugins,
          const std::string& installed)
      : registry_(open_registry(plugins, installed)), backend_([&] {
          aot::PreprocessOptions preprocess;
          preprocess.weights = aot::WeightAccess::in_place;
          return take(aot::PluginPreprocess::find(*registry_, id, preprocess));
        }()) {}

  [[nodiscard]] std::string id() const { return std::string(backend_.id()); }
  [[nodiscard]] bool has_partition() const noexcept { return backend_.has_partition(); }

  /// ({tag: specs}, {node: tag}, {value: tag})
  [[nodiscard]] nb::tuple partition(const Program& program, const nb::list& options) const {
    const Specs specs = specs_of(options);
    const auto found =
        take(without_gil([&] { return backend_.partition(program.program.view(), specs); }));
    nb::dict tags;
    for (const auto& [tag, spec] : found.partition_tags) {
      tags[tag.c_str()] = list_of(spec.compile_specs);
    }
    nb::dict nodes;
    for (std::size_t i = 0; i < found.node_tags.size(); ++i) {
      if (!found.node_tags[i].empty()) nodes[nb::cast(i)] = found.node_tags[i];
    }
    nb::dict values;
    for (std::size_t i = 0; i < found.value_tags.size(); ++i) {
      if (!found.value_tags[i].empty()) values[nb::cast(i)] = found.value_tags[i];
    }
    return nb::make_tuple(tags, nodes, values);
  }

  [[nodiscard]] std::vector<std::string> ops_to_not_decompose(const Program& program) const {
    return take(without_gil([&] { return backend_.ops_to_not_decompose(program.program.view()); }));
  }

  [[nodiscard]] const aot::PluginPreprocess& half() const noexcept { return backend_; }

  /// (bytes, debug handles, named data, info) for each of `parts`: (program, specs).
  [[nodiscard]] nb::list preprocess(const nb::list& parts) const {
    std::vector<aot::PartitionToCompile> partitions;
    for (const nb::handle part : parts) {
      partitions.push_back({nb::cast<const Program&>(part[0]).program.view(),
                            specs_of(nb::cast<nb::list>(part[1]))});
    }
    const auto made = take(without_gil([&] { return backend_.preprocess(partitions); }));
    nb::list out;
    for (const aot::PreprocessResult& one : made) {
      out.append(nb::make_tuple(bytes_of(one.processed_bytes),
                                debug_handles_of(one.debug_handle_map),
                                named_data_of(one.data_store_output), one.delegate_info));
    }
    return out;
  }

 private:
  std::shared_ptr<host::BackendRegistry> registry_;
  aot::PluginPreprocess backend_;
};

/// `backends`: (Backend, specs) each.
nb::tuple compile_with(const Program& program, const nb::list& backends, bool whole,
                       const ProgramStore* store) {
  std::vector<BackendOfCall> list;
  for (const nb::handle one : backends) {
    list.push_back({nb::cast<const Backend&>(one[0]).half(), specs_of(nb::cast<nb::list>(one[1]))});
  }
  return compile_program(program, list, whole, store);
}

}  // namespace

}  // namespace tenon::python

TENON_PYTHON_MODULE(_aot, module) {
  using tenon::python::Backend;
  using tenon::python::Program;
  using tenon::python::ProgramBuilder;
  nb::class_<Program>(module, "Program").def("__str__", [](const Program& self) {
    return tenon::aot::to_text(self.program.view());
  });
  nb::class_<ProgramBuilder>(module, "ProgramBuilder")
      .def(nb::init<const std::string&, const nb::dict&>())
      .def("user_input", &ProgramBuilder::user_input)
      .def("user_input_symbol", &ProgramBuilder::user_input_symbol)
      .def("stored", &ProgramBuilder::stored, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
           nb::arg(), nb::arg().none())
      .def("node_output", &ProgramBuilder::node_output)
      .def("node_output_symbol", &ProgramBuilder::node_output_symbol)
      .def("add_node", &ProgramBuilder::add_node)
      .def("user_output", &ProgramBuilder::user_output)
      .def("mutation", &ProgramBuilder::mutation)
      .def("build", &ProgramBuilder::build);
  nb::class_<Backend>(module, "Backend")
      .def(nb::init<const std::string&, const std::vector<std::string>&, const std::string&>())
      .def_prop_ro("id", &Backend::id)
      .def_prop_ro("has_partition", &Backend::has_partition)
      .def("partition", &Backend::partition)
      .def("ops_to_not_decompose", &Backend::ops_to_not_decompose)
      .def("preprocess", &Backend::preprocess);
  tenon::python::bind_program_store(module);
  module.def("compile", &tenon::python::compile_with, nb::arg("program"), nb::arg("backends"),
             nb::arg("whole"), nb::arg("store").none());
  tenon::python::bind_merge(module);
  tenon::python::bind_pack(module);
  tenon::python::bind_aoti(module);
}
