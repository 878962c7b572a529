// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/aot/compiler/emit/emit.hpp"
#include "tenon/aot/compiler/lower/lower.hpp"
#include "tenon/aot/compiler/partition/plugin_preprocess.hpp"
#include "tenon/aot/compiler/pt2/reader.hpp"
#include "tenon/aot/compiler/write/pte_writer.hpp"
#include "tenon/host/backend_registry.hpp"

namespace tenon::test {

/// A compiled program.
struct CompiledArchive {
  aot::ProgramData program;
  std::size_t partitions = 0;
  std::size_t left_over = 0;  ///< Nodes that no partition took and that run.
};

/// From an archive of PyTorch to the description of a `.pte`, by the ahead-of-time half of the
/// backend `backend_id` that `registry` finds. `archive` must outlive the result.
inline Result<CompiledArchive> compile_archive(const aot::Pt2Program& archive,
                                               const host::BackendRegistry& registry,
                                               const std::vector<aot::CompileSpecData>& options,
                                               std::string_view backend_id) {
  TENON_TRY(const auto plugin, aot::PluginPreprocess::find(registry, backend_id));
  CompiledArchive out;
  std::vector<aot::CompiledMethod> methods;
  for (const aot::Pt2Method& method : archive.methods) {
    const aot::EdgeProgram program = method.program.view();
    TENON_TRY(const auto partitions, plugin.partition(program, options));
    TENON_TRY(auto lowered, aot::lower(program, partitions));
    std::vector<aot::PartitionToCompile> parts;
    for (const auto& part : lowered.partitions) {
      parts.push_back({part.program.view(), part.compile_specs});
    }
    TENON_TRY(auto results, plugin.preprocess(parts));
    for (const auto& step : lowered.steps) {
      (std::holds_alternative<aot::NodeStep>(step) ? out.left_over : out.partitions) += 1;
    }
    methods.push_back({std::move(lowered), std::move(results)});
  }
  TENON_TRY(out.program, aot::emit(methods));
  return out;
}

}  // namespace tenon::test
