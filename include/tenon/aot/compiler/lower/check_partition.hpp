// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/edge_program.hpp"
#include "tenon/aot/partition_result.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

struct LowerOptions {
  /// True: a parameter, constant or unchanged buffer that a partition keeps may also be read
  /// elsewhere; each partition that reads it then keeps it, and so does the method when it is
  /// read outside of partitions. False: that is an error, as for ExecuTorch's nodes with `no_copy`.
  bool duplicate_constants = true;
};

/// Checks what ExecuTorch's `to_backend` checks (exir/backend/backend_api.py), and that partitions
/// can be ordered. A tag without nodes is accepted: it makes no delegate.
///
/// errors: InvalidArgument: a tag on a node or value that there is not, a tag without delegation
///         spec, a spec without backend, a tag on a value that is not a parameter, buffer or
///         constant, a tagged mutated buffer that is read, made or returned elsewhere, constant
///         data that is read elsewhere (unless `duplicate_constants`), a partition that is not
///         convex, and partitions that need each other. The text names the nodes.
[[nodiscard]] Status check_partition(const EdgeProgram& program, const PartitionResult& partitions,
                                     const LowerOptions& options = {});

}}}  // namespace tenon::TENON_RELEASE::aot
