// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/host/loader/files/shortened.hpp"
#include "tenon/host/loader/impl/method/arena.hpp"
#include "tenon/host/loader/impl/method/arena_bytes.hpp"
#include "tenon/host/loader/impl/method/bind_inputs.hpp"
#include "tenon/host/loader/impl/method/device_space.hpp"
#include "tenon/host/loader/impl/method/errors.hpp"
#include "tenon/host/loader/impl/method/instruction_builder.hpp"
#include "tenon/host/loader/impl/method/loaded_delegate.hpp"
#include "tenon/host/loader/impl/method/loading.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/impl/method/planned_buffers.hpp"
#include "tenon/host/loader/impl/method/run_budget.hpp"
#include "tenon/host/loader/impl/method/values.hpp"
#include "tenon/host/loader/method/kernels.hpp"
#include "tenon/host/loader/method/method.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

[[nodiscard]] inline Status load_delegates(MethodState& method, Loading& loading) {
  const auto& serialized = *method.plan.delegates();
  auto* delegates = method.arena.allocate_list<Delegate>(serialized.size());
  if (!delegates) return error(Error::MemoryAllocationFailed, "no memory for the delegates");
  for (flatbuffers::uoffset_t i = 0; i < serialized.size(); ++i) {
    const schema::BackendDelegate& from = *serialized.Get(i);
    new (&delegates[i]) Delegate();
    if (Status loaded = loading.load(i, from, delegates[i]); !loaded.ok()) {
      loading.failed_delegate = i;
      return std::move(loaded).with_context(
          concat("delegate ", i, " (", from.id()->string_view(), ")"));
    }
    method.delegates = {delegates, i + 1};
  }
  return ok();
}

/// Values, delegates and instructions, in this order.
[[nodiscard]] inline Status build(MethodState& method, Loading& loading) {
  if (!method.options.backend_options.empty()) [[unlikely]] {
    TENON_RETURN_IF_ERROR(check_used(method, method.options.backend_options));
  }
  for (const auto& part : method.parts) TENON_RETURN_IF_ERROR(part->before_load(loading));
  if (method.options.limits.run_milliseconds != HostLimits::none && !loading.keeps_time) {
    return error(Error::InvalidArgument,
                 "limits.run_milliseconds needs the layer TimeLimit (MethodOptions::layers)");
  }
  for (const auto& part : method.parts) TENON_RETURN_IF_ERROR(part->limit_memory(loading));
  // Unless a part reserved what the method may take.
  if (method.arena.nbytes() == 0) method.arena.reserve(estimated_arena_bytes(method.plan));
  for (const auto& part : method.parts) TENON_RETURN_IF_ERROR(part->before_memory(loading));
  if (!method.devices) {
    TENON_RETURN_IF_ERROR(check_needs_no_device(*method.program, method.plan));
  }
  TENON_RETURN_IF_ERROR(method.planned.allocate(method.plan, method.devices,
                                                method.options.limits.planned_bytes, method.arena,
                                                loading.pages));
  TENON_TRY(method.values,
            ValueBuilder(method.program->view(), method.plan, method.planned, loading).build());
  TENON_TRY(method.inputs, find_inputs(method.plan, method.values, method.devices, method.arena));
  std::uint32_t unset = 0;
  for (const MethodInput& input : method.inputs) unset += input.is_set ? 0U : 1U;
  method.blocked.store(unset, std::memory_order_relaxed);
  TENON_RETURN_IF_ERROR(load_delegates(method, loading));
  TENON_TRY(method.chains, InstructionBuilder(method.plan, method.values, method.delegates,
                                              method.options.kernels, loading)
                               .build());
  method.kernel_context = {&method.kernel_host, method.name.data(),     method.temp_arena.table(),
                           loading.tracer,      method.changes.table(), loading.call_services};
  return ok();
}

/// errors: as `Method::load`.
[[nodiscard]] inline Status load_into(MethodState& method) {
  Loading loading{.method = method, .lent = &method.arena};
  Status outcome = build(method, loading);
  for (const auto& part : method.parts) {
    outcome = part->after_load(loading, std::move(outcome));
  }
  return outcome;
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
