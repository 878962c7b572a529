// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tenon/abi/tensor.h"
#include "tenon/host/loader/impl/method/bind_inputs.hpp"
#include "tenon/host/loader/impl/method/instructions.hpp"
#include "tenon/host/loader/impl/method/loaded_delegate.hpp"
#include "tenon/host/loader/impl/method/planned_buffers.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// About what the load of a method takes from the arena for a plan, by the lengths of its lists: a
/// tensor of three dimensions for each value, an instruction of three arguments, the name of one
/// backend. The arena grows for what has more.
[[nodiscard]] inline std::size_t estimated_arena_bytes(const schema::ExecutionPlan& plan) noexcept {
  constexpr std::size_t most = std::size_t{1} << 20;  // Lists of an unusual length grow.
  constexpr std::size_t each_value = sizeof(tenon_value) + sizeof(tenon_tensor) +
                                     3 * 2 * sizeof(std::int64_t) + sizeof(const void*);
  constexpr std::size_t each_instruction = sizeof(Instruction) + 3 * sizeof(tenon_value*);
  const auto& delegates = *plan.delegates();
  const std::size_t name = delegates.size() == 0 ? 0 : delegates.Get(0)->id()->size();
  std::size_t bytes = PlannedBuffers::estimated_bytes(plan) + plan.values()->size() * each_value +
                      plan.inputs()->size() * sizeof(MethodInput) + sizeof(BackendUse) +
                      alignof(BackendUse) + name + delegates.size() * sizeof(Delegate);
  for (const auto* chain : *plan.chains()) {
    bytes += sizeof(Chain) + chain->instructions()->size() * each_instruction;
  }
  return std::min(bytes, most);
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
