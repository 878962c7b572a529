// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <vector>

#include "program_builder.hpp"
#include "tenon/aot/compiler/partition/plugin_preprocess.hpp"
#include "tenon/aot/compiler/write/file_image.hpp"
#include "tenon/aot/program_data.hpp"
#include "tenon/host/prepared.hpp"

namespace tenon::python {

/// A backend that may take nodes, with its compile specs.
struct BackendOfCall {
  const aot::PluginPreprocess& backend;
  std::vector<aot::CompileSpecData> specs;
};

/// Compiled programs by their content, in a directory that several processes share.
struct ProgramStore {
  std::unique_ptr<const host::PreparedCache> cache;
};

/// The body of `_aot.compile`: compiles `program` with the backends, in their order, into a program
/// of ExecuTorch's in memory.
///
/// Returns a tuple: the bytes of the program; whether it was compiled now and not found in `store`;
/// the lines that the backends say about their delegates; [(tag, bytes)] of the files (`.ptd`) that
/// backends store data in; and [(operator, nodes given to backends, nodes left to kernels)].
///
/// `whole` gives the first backend all nodes. `store` keeps such programs by content: the plugin's
/// file, the specs, the program and its weights; one with files is not kept. Null: nothing is kept.
[[nodiscard]] nanobind::tuple compile_program(const Program& program,
                                              const std::vector<BackendOfCall>& backends,
                                              bool whole, const ProgramStore* store);

/// The whole file.
[[nodiscard]] nanobind::bytes bytes_of(const aot::FileImage& image);

/// Adds `ProgramStore` to the module.
void bind_program_store(nanobind::module_& module);

}  // namespace tenon::python
