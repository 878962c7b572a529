// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/compiler/compile_methods.hpp"

#include <cstddef>
#include <utility>

#include "tenon/aot/compiler/lower/lower.hpp"
#include "tenon/aot/compiler/lower/lowered_program.hpp"
#include "tenon/aot/compiler/partition/plugin_preprocess.hpp"
#include "tenon/aot/preprocess_result.hpp"
#include "tenon/host/loader/files/shortened.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

Result<std::vector<CompiledMethod>> compile_methods(std::span<const EdgeProgram> methods,
                                                    std::span<const BackendToUse> backends) {
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

}}}  // namespace tenon::TENON_RELEASE::aot
