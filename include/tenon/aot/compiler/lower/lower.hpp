// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/compiler/link/needs_implementation.hpp"
#include "tenon/aot/compiler/lower/check_partition.hpp"
#include "tenon/aot/compiler/lower/lowered_program.hpp"
#include "tenon/aot/partition_result.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// Takes the partitions out of a program (ExecuTorch: exir/backend/backend_api.py, `to_backend`
/// with a partitioner). The program stays as it is and must outlive what is returned, which refers
/// to it and to its data.
///
/// The inputs of a partition are in the order in which its nodes first read them, its outputs in
/// the order in which its nodes make them.
///
/// errors: as `check_partition`.
[[nodiscard]] Result<LoweredProgram> lower(const EdgeProgram& program,
                                           const PartitionResult& partitions,
                                           const LowerOptions& options = {});

/// All of a program as one partition with the tag "whole", as when ExecuTorch's `to_backend` gets
/// no partitioner: the backend keeps parameters, buffers and constants, also those that a call
/// changes. Empty when nothing in the program runs.
[[nodiscard]] PartitionResult partition_whole_program(const EdgeProgram& program,
                                                      DelegationSpec spec);

}}}  // namespace tenon::TENON_RELEASE::aot
