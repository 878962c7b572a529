// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "operators/found_call.hpp"
#include "tenon/core/json.hpp"
#include "tenon/core/json_limits.hpp"
#include "tenon/core/result.hpp"

namespace tenon::cpu_aoti {

/// The plan of a call whose operator has no code here. Nothing when the description lacks the facts
/// that kernels must know: the text "tenon" of the node's metadata, a JSON object that the exporter
/// adds (`tenon.aoti.describe_calls`), with the members
///
///     "arguments": ["x", "by"]    names of all arguments, in the order of the operator's schema
///     "defaults": [{"name": "by", "arg": {"as_float": 1.0}}]    those that the call leaves out
///     "out": "acme::shift.out"    optional: the overload that writes to given results
///     "tensors": [{"dtype": 6, "sizes": [64, 4], "dim_order": [0, 1],
///                  "dynamic": [true, false], "written": false}]
///
/// "tensors" are the call's tensors in its order, arguments before results: dtypes are PyTorch's
/// numbers, sizes the largest ones, null where there is none, "dynamic" for each
/// dimension whether smaller sizes are possible. A result with gaps in memory has the
/// dim order null.
///
/// errors: InvalidProgram for what is no description, and for an overload with another name than
/// `is_operator_name` allows; NotSupported for a type of argument that
/// kernels have no value for, and for a size without a limit.
[[nodiscard]] Result<std::optional<CallPlan>> read_found_call(const JsonAt& node,
                                                              const std::string& op);

/// Limits of a description, and of a text inside of one: larger than PyTorch's exporter needs.
inline constexpr JsonLimits description_limits{std::uint64_t{1} << 22, 1'000'000, 32};

}  // namespace tenon::cpu_aoti
