// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "tenon/aot/compiler/emit/emit.hpp"
#include "tenon/aot/compiler/link/needs_implementation.hpp"
#include "tenon/aot/compiler/partition/partition_by_backends.hpp"
#include "tenon/aot/edge_program.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// Chooses the partitions of each method, takes them out, and lets their backends compile them:
/// each backend once, with all of its partitions of all methods. The results are for `emit`, whose
/// result is for `write_pte` and `write_external_data`. The programs must outlive what is returned.
///
/// Text of errors that belong to one method names it.
///
/// errors: as `partition_by_backends`, `lower` and `PluginPreprocess::preprocess`.
[[nodiscard]] Result<std::vector<CompiledMethod>> compile_methods(
    std::span<const EdgeProgram> methods, std::span<const BackendToUse> backends);

}}}  // namespace tenon::TENON_RELEASE::aot
