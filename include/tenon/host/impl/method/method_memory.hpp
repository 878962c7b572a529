// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "tenon/abi/extensions/memory_info.h"
#include "tenon/abi/tensor.h"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/impl/method/bind_inputs.hpp"
#include "tenon/host/impl/method/instructions.hpp"
#include "tenon/host/impl/method/loaded_delegate.hpp"
#include "tenon/host/impl/method/memory/planned_buffers.hpp"
#include "tenon/host/method/memory.hpp"
#include "tenon/host/plugin/last_error.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon::inline TENON_RELEASE::host::detail {

/// The memory of a delegate that is loaded: what the host lent it, and what its backend reports
/// (extension "tenon.memory_info/1"). errors: the backend's own.
[[nodiscard]] inline Result<DelegateMemory> memory_of(const LoadedDelegate& delegate) {
  DelegateMemory out;
  out.backend_id = delegate.use->id;
  out.lent = delegate.lent;
  const LoadedBackend& backend = *delegate.use->backend;
  const auto table = backend.extension<tenon_memory_info_v1>(TENON_EXTENSION_MEMORY_INFO);
  if (!table || !table->memory_info) return out;
  tenon_memory_info info{};
  info.struct_size = sizeof info;
  const tenon_status status = table->memory_info(backend.raw(), delegate.active->handle, &info);
  if (status != TENON_STATUS_OK) {
    return take_last_error(backend.host(), status)
        .with_context(concat("backend ", backend.id(), ": memory_info"));
  }
  out.is_reported = true;
  out.host_weights = info.host_weights;
  out.host_scratch = info.host_scratch;
  out.device_weights = info.device_weights;
  out.device_scratch = info.device_scratch;
  return out;
}

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
                      alignof(BackendUse) + name + delegates.size() * sizeof(LoadedDelegate);
  for (const auto* chain : *plan.chains()) {
    bytes += sizeof(Chain) + chain->instructions()->size() * each_instruction;
  }
  return std::min(bytes, most);
}

}  // namespace tenon::inline TENON_RELEASE::host::detail
