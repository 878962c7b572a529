// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tenon/aot/program_data.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// When the memory of a value is needed. Time 0 is when inputs are set, instruction i runs at time
/// i + 1, and outputs are read one time after the last instruction.
struct Lifetime {
  std::uint32_t first = 0;
  std::uint32_t last = 0;

  friend bool operator==(const Lifetime&, const Lifetime&) = default;
};

struct MethodMemoryOptions {
  std::uint64_t alignment = 16;
  /// Added to each memory, for backends that read behind the end of tensors. XNNPACK needs 64, as
  /// ExecuTorch gives them to every method with a delegate of it.
  std::uint64_t extra_bytes = 0;
  /// False: tensors that are inputs (outputs) get no memory; the caller brings it.
  bool plan_inputs = true;
  bool plan_outputs = true;
};

/// When each value is needed; nothing for values that nothing uses. Lists pass their uses on to
/// their tensors, moves make two names of one memory, and what a loop uses lives through the loop.
/// A mutable buffer lives through the whole call, and beyond.
///
/// An operator whose result is a view of an argument's memory is not known here: a lowering that
/// uses one chooses both places itself. Indices of `method` must be valid; the functions below
/// check that first.
[[nodiscard]] std::vector<std::optional<Lifetime>> method_lifetimes(const MethodData& method);

/// Chooses a place for each tensor of the method that needs one and has memory id 0, and adds the
/// memories for them behind the existing ones. Places that are already chosen do not change.
///
/// errors: InvalidArgument for an index or a layout that is wrong, and as `plan_memory`. The method
///         is unchanged then.
Status plan_method_memory(MethodData& method, const MethodMemoryOptions& options = {});

/// Proves that no two tensors of the method share a byte while both are needed: the lifetimes are
/// computed anew, and every place is held against every other. Two names of one memory (MoveCall)
/// must have memory of their own, as `plan_method_memory` gives them.
///
/// errors: InvalidProgram, as `check_memory_plan`, with the values' numbers; InvalidArgument for a
///         wrong index or layout.
[[nodiscard]] Status check_method_memory(const MethodData& method);

}}}  // namespace tenon::TENON_RELEASE::aot
