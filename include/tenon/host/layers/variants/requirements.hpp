// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/version.h"
#include "tenon/host/schema/forward.hpp"

/// The needs of a method besides its backends, and what of them is missing: all of it at once, so
/// that it can be fixed at once. Plans come from a program that was verified.
namespace tenon { inline namespace TENON_RELEASE { namespace host {

class KernelTable;
class MergedDataMap;

/// Operators without a kernel, neither in `kernels` nor built in (copy_kernels.hpp), each with the
/// instructions that call it: "0:1, 0:4" (number of the chain, and in it). `kernels` may be null.
[[nodiscard]] std::map<std::string, std::string> find_missing_operators(
    const schema::ExecutionPlan& plan, const KernelTable* kernels);

/// Names of tensors whose data is external and in none of the data files, each once. `external` may
/// be null.
[[nodiscard]] std::vector<std::string> find_missing_tensors(const schema::ExecutionPlan& plan,
                                                            const MergedDataMap* external);

}}}  // namespace tenon::TENON_RELEASE::host
