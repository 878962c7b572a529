// SPDX-License-Identifier: MIT
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../interpreter.hpp"
#include "common/instruction_decoder.hpp"
#include "compile_program.hpp"
#include "cpu_features.hpp"
#include "module.hpp"
#include "program_builder.hpp"
#include "tenon/abi/draft/aoti_export.h"
#include "tenon/aot/compiler/aoti/aoti_program.hpp"
#include "tenon/aot/compiler/aoti/strip_library.hpp"
#include "tenon/aot/compiler/write/pte_writer.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/backend_registry.hpp"

namespace nb = nanobind;

namespace tenon::python {

namespace {

/// The model in the files, without what only debuggers read, and with its CPU features: those that
/// its instructions show, or else `level`.
Result<aot::AotiModel> read_model(const char* torch_device, const std::string& library,
                                  const std::optional<std::string>& weights,
                                  const std::optional<std::string>& level) {
  std::optional<std::filesystem::path> blob;
  if (weights) blob = *weights;
  TENON_TRY(aot::AotiModel model, aot::read_aoti_library(library, blob));
  model.torch_device = torch_device;
  auto stripped = aot::strip_library(model.library);
  if (stripped.ok()) {
    model.library = *std::move(stripped);
  } else if (stripped.error() != Error::NotSupported) {  // Then it keeps its symbols.
    return std::move(stripped).status();
  }
  TENON_TRY(model.cpu_features, compile::find_cpu_features(model.library.bytes(), std::nullopt,
                                                           aoti_common::instruction_decoder()));
  if (!model.cpu_features && level) {
    TENON_TRY(model.cpu_features,
              compile::find_cpu_features(model.library.bytes(), level, nullptr));
  }
  return model;
}

/// The facts that an exporter needs of a backend for models of AOTInductor.
class AotiExport {
 public:
  AotiExport(const std::string& id, const std::vector<std::string>& plugins,
             const std::string& installed)
      : registry_(open_registry(plugins, installed)),
        backend_(take(registry_->lookup_backend(id))) {
    const auto table = backend_->extension<tenon_aoti_export_v1>(TENON_EXTENSION_AOTI_EXPORT);
    if (!table) {
      raise(error(Error::NotSupported, "backend ", id,
                  ": does not run models of AOTInductor: it has no "
                  "extension " TENON_EXTENSION_AOTI_EXPORT));
    }
    table_ = *table;
  }

  [[nodiscard]] std::string device_name() const { return table_.device_name; }
  [[nodiscard]] std::string torch_device() const { return table_.torch_device; }
  [[nodiscard]] std::string decompositions() const { return table_.decompositions; }
  [[nodiscard]] std::string compile_options() const { return table_.compile_options; }
  [[nodiscard]] std::vector<std::string> fallback_kernels() const {
    return {table_.fallback_kernels, table_.fallback_kernels + table_.num_fallback_kernels};
  }
  [[nodiscard]] bool serves(const std::string& function) const {
    return table_.serves(backend_->raw(), function.c_str()) == 1;
  }

  /// (bytes of the program or None, CPU features or None): packs a model that AOTInductor compiled.
  /// With a path the program is written there.
  [[nodiscard]] nb::tuple pack(const Program& program, const std::string& library,
                               const std::optional<std::string>& weights,
                               const std::optional<std::string>& level,
                               const std::optional<std::string>& path) const {
    struct Packed {
      std::optional<aot::FileImage> image;
      std::optional<std::string> cpu_features;
    };
    const Packed packed = take([&]() -> Result<Packed> {
      const ReleasedGil released;
      TENON_TRY(const aot::AotiModel model,
                read_model(table_.torch_device, library, weights, level));
      const aot::AotiMethod method{program.program.view(), &model};
      aot::AotiOptions options;
      options.backend_id = backend_->id();
      TENON_TRY(const aot::ProgramData data,
                aot::make_aoti_program(std::span(&method, 1), options));
      Packed out{std::nullopt, model.cpu_features};
      if (path) {
        TENON_RETURN_IF_ERROR(aot::write_pte(data, std::filesystem::path(*path)));
        return out;
      }
      TENON_TRY(out.image, aot::make_pte(data));
      return out;
    }());
    return nb::make_tuple(packed.image ? nb::object(bytes_of(*packed.image)) : nb::none(),
                          packed.cpu_features);
  }

 private:
  std::shared_ptr<host::BackendRegistry> registry_;
  host::BackendRef backend_;
  tenon_aoti_export_v1 table_{};
};

}  // namespace

void bind_aoti(nb::module_& module) {
  nb::class_<AotiExport>(module, "AotiExport")
      .def(nb::init<const std::string&, const std::vector<std::string>&, const std::string&>())
      .def_prop_ro("device_name", &AotiExport::device_name)
      .def_prop_ro("torch_device", &AotiExport::torch_device)
      .def_prop_ro("fallback_kernels", &AotiExport::fallback_kernels)
      .def_prop_ro("decompositions", &AotiExport::decompositions)
      .def_prop_ro("compile_options", &AotiExport::compile_options)
      .def("serves", &AotiExport::serves)
      .def("pack", &AotiExport::pack, nb::arg("program"), nb::arg("library"),
           nb::arg("weights").none(), nb::arg("level").none(), nb::arg("path").none());
}

}  // namespace tenon::python
