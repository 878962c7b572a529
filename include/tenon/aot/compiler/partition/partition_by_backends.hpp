// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "tenon/aot/compiler/partition/plugin_preprocess.hpp"
#include "tenon/aot/edge_program.hpp"
#include "tenon/aot/partition_result.hpp"
#include "tenon/aot/program_data.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// A backend that may take nodes of a program, and its compile specs.
struct BackendToUse {
  PluginPreprocess backend;
  std::vector<CompileSpecData> compile_specs;
  /// Gives it all nodes without asking it (ExecuTorch: `to_backend` with an id).
  bool whole_program = false;
};

/// Lets backends choose nodes, one after the other: a later one gets what the earlier ones left,
/// and sees their partitions as single nodes (ExecuTorch: to_edge_transform_and_lower with a list
/// of partitioners). Tags are "BACKEND/TAG". Without backends all is left to kernels.
///
/// errors: as `PluginPreprocess::partition` and `lower`; InvalidArgument for a backend that takes
/// another backend's nodes, and for a backend that is named twice.
[[nodiscard]] Result<PartitionResult> partition_by_backends(const EdgeProgram& program,
                                                            std::span<const BackendToUse> backends);

}}}  // namespace tenon::TENON_RELEASE::aot
