// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "tenon/aot/compiler/emit/emit.hpp"
#include "tenon/aot/compiler/partition/partition_by_backends.hpp"
#include "tenon/aot/edge_program.hpp"
#include "tenon/core/api.hpp"
#include "tenon/core/result.hpp"

namespace tenon::aot {

/// Chooses the partitions of each method, takes them out, and lets their backends compile them:
/// each backend once, with all of its partitions of all methods. The results are for `emit`, whose
/// result is for `write_pte` and `write_external_data`. The programs must outlive what is returned.
///
/// Text of errors that belong to one method names it.
///
/// errors: those of `partition_by_backends`, `lower` and `PluginPreprocess::preprocess`.
[[nodiscard]] TENON_API Result<std::vector<CompiledMethod>> compile_methods(
    std::span<const EdgeProgram> methods, std::span<const BackendToUse> backends);

}  // namespace tenon::aot

#if TENON_COMPILER_DEFINITIONS

#include <cstddef>
#include <utility>

#include "tenon/aot/compiler/lower/lower.hpp"
#include "tenon/aot/compiler/lower/lowered_program.hpp"
#include "tenon/aot/compiler/partition/plugin_preprocess.hpp"
#include "tenon/aot/preprocess_result.hpp"
#include "tenon/host/files/shortened.hpp"

namespace tenon::aot {

TENON_API Result<std::vector<CompiledMethod>> compile_methods(
    std::span<const EdgeProgram> methods, std::span<const BackendToUse> backends) {
  std::vector<CompiledMethod> out;
  for (const EdgeProgram& method : methods) {
    const auto in_method = [&](Status failure) {
      return host::shortened(
          std::move(failure).with_context(concat("method '", method.method_name(), "'")));
    };
    auto partitions = partition_by_backends(method, backends);
    if (!partitions.ok()) return in_method(std::move(partitions).status());
    auto lowered = lower(method, *partitions);
    if (!lowered.ok()) return in_method(std::move(lowered).status());
    std::vector<PreprocessResult> results(lowered->partitions.size());
    out.push_back({*std::move(lowered), std::move(results)});
  }
  for (const BackendToUse& one : backends) {
    std::vector<PartitionToCompile> parts;
    std::vector<PreprocessResult*> places;
    for (CompiledMethod& method : out) {
      for (std::size_t i = 0; i < method.results.size(); ++i) {
        const LoweredPartition& part = method.program.partitions[i];
        if (part.backend_id != one.backend.id()) continue;
        parts.push_back({part.program.view(), part.compile_specs});
        places.push_back(&method.results[i]);
      }
    }
    if (parts.empty()) continue;
    TENON_TRY(auto results, one.backend.preprocess(parts));
    for (std::size_t i = 0; i < places.size(); ++i) *places[i] = std::move(results[i]);
  }
  return out;
}

}  // namespace tenon::aot

#endif  // TENON_COMPILER_DEFINITIONS
