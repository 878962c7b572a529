// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "tenon/host/layers/trace/trace.hpp"
#include "tenon/host/loader/files/shortened.hpp"
#include "tenon/host/loader/impl/method/arena.hpp"
#include "tenon/host/loader/impl/method/arena_bytes.hpp"
#include "tenon/host/loader/impl/method/bind_inputs.hpp"
#include "tenon/host/loader/impl/method/device_space.hpp"
#include "tenon/host/loader/impl/method/errors.hpp"
#include "tenon/host/loader/impl/method/instruction_builder.hpp"
#include "tenon/host/loader/impl/method/kernel_host.hpp"
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
    const std::uint64_t start = method.options.trace ? method.options.trace->now_ns() : 0;
    if (Status loaded = loading.load(i, from, delegates[i]); !loaded.ok()) {
      if (method.options.failed_delegate) *method.options.failed_delegate = i;
      return std::move(loaded).with_context(
          concat("delegate ", i, " (", from.id()->string_view(), ")"));
    }
    method.delegates = {delegates, i + 1};
    if (method.options.num_loaded_delegates) *method.options.num_loaded_delegates = i + 1;
    if (method.options.trace) {
      method.options.trace->add("init", "delegate", start, method.options.trace->now_ns(),
                                {{"backend", from.id()->string_view()}, {"delegate", concat(i)}});
    }
  }
  return ok();
}

[[nodiscard]] inline Result<std::unique_ptr<RunControl>> make_control(MethodState& method) {
  try {
    return std::make_unique<RunControl>(method.options.limits.run_milliseconds, [&method] {
      for (const Delegate& delegate : method.delegates) delegate.cancel();
      if (AsyncRuns* const runs = method.hurried_runs.load(std::memory_order_acquire))
        runs->hurry();
    });
  } catch (const std::system_error& failure) {
    return error(Error::OutOfResources,
                 "no thread for the limit run_milliseconds: ", failure.what());
  }
}

/// Values, delegates and instructions, in this order.
[[nodiscard]] inline Status build(MethodState& method, Loading& loading) {
  if (!method.options.backend_options.empty()) [[unlikely]] {
    TENON_RETURN_IF_ERROR(check_used(method, method.options.backend_options));
  }
  for (const auto& part : method.parts) TENON_RETURN_IF_ERROR(part->before_load(loading));
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
  method.kernel_context = {kernel_host(),  method.name.data(),     method.temp_arena.table(),
                           loading.tracer, method.changes.table(), loading.call_services};
  return ok();
}

/// Errors as those of `Method::load`.
[[nodiscard]] inline Status load_into(MethodState& method) {
  if (method.options.cancellable) {
    TENON_TRY(method.control, make_control(method));
  }
  choose_run(method);
  const tenon_scheduling scheduling = tenon::detail::to_abi(method.options.scheduling);
  Loading loading{.method = method,
                  .tracer = method.options.trace ? method.options.trace->table() : nullptr,
                  .scheduling = method.options.scheduling == Scheduling() ? nullptr : &scheduling,
                  .lent = &method.arena,
                  .call_services = method.control ? method.control->flag_service() : nullptr};
  Status outcome = build(method, loading);
  for (const auto& part : method.parts) {
    outcome = part->after_load(loading, std::move(outcome));
  }
  return outcome;
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
