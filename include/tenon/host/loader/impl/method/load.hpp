// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "tenon/host/layers/budget/impl/estimate.hpp"
#include "tenon/host/layers/budget/impl/method_memory.hpp"
#include "tenon/host/layers/budget/impl/planned_bytes.hpp"
#include "tenon/host/layers/devices/impl/method_devices.hpp"
#include "tenon/host/layers/devices/impl/shared_devices.hpp"
#include "tenon/host/layers/kernels/impl/kernel_lookup.hpp"
#include "tenon/host/layers/scheduling/thread_pool.hpp"
#include "tenon/host/layers/trace/trace.hpp"
#include "tenon/host/loader/files/shortened.hpp"
#include "tenon/host/loader/impl/method/allocate_planned.hpp"
#include "tenon/host/loader/impl/method/arena.hpp"
#include "tenon/host/loader/impl/method/bind_inputs.hpp"
#include "tenon/host/loader/impl/method/errors.hpp"
#include "tenon/host/loader/impl/method/instructions.hpp"
#include "tenon/host/loader/impl/method/kernel_host.hpp"
#include "tenon/host/loader/impl/method/loaded_delegate.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/impl/method/planned_buffers.hpp"
#include "tenon/host/loader/impl/method/run_budget.hpp"
#include "tenon/host/loader/impl/method/values.hpp"
#include "tenon/host/loader/method/kernels.hpp"
#include "tenon/host/loader/method/method.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

[[nodiscard]] inline const tenon_thread_pool* threads_of(const MethodState& method) noexcept {
  return method.options.threads ? method.options.threads->table() : nullptr;
}

inline Status load_delegates(MethodState& method, Loading& loader) {
  const auto& serialized = *method.plan.delegates();
  auto* delegates = method.arena.allocate_list<Delegate>(serialized.size());
  if (!delegates) return error(Error::MemoryAllocationFailed, "no memory for the delegates");
  PluginKernelLookup kernels(method.options.backends, method.options.registry, loader.method_name,
                             method.options.trace ? method.options.trace->table() : nullptr,
                             loader.threads, loader.cancel_flag);
  for (flatbuffers::uoffset_t i = 0; i < serialized.size(); ++i) {
    const schema::BackendDelegate& from = *serialized.Get(i);
    new (&delegates[i]) Delegate();
    const std::uint64_t start = method.options.trace ? method.options.trace->now_ns() : 0;
    if (method.budget) method.budget->begin_delegate(i);
    if (Status loaded = loader.load(i, from, kernels, delegates[i]); !loaded.ok()) {
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
  if (method.budget) method.budget->end_delegate();
  return ok();
}

/// Takes what the method will need from its budget, or refuses it: before memory is allocated and
/// before `init` of the first delegate.
[[gnu::cold]] inline Status take_budget(MethodState& method, Loading& loader) {
  TENON_TRY(method.budget, MethodBudget::create(method.options.budget));
  TENON_RETURN_IF_ERROR(method.budget->take_host(estimate_host(method.plan)));
  const auto [in_arena, aligning] = PlannedBuffers::bytes_in_arena(method.plan);
  method.arena.reserve(
      static_cast<std::size_t>(method.budget->estimate().tables - aligning + in_arena));
  method.arena.set_meter(method.budget->cpu());
  method.temp_arena.set_meter(method.budget->cpu());
  loader.lent = &method.budget->lent();
  std::vector<DelegateEstimate> delegates;
  for (flatbuffers::uoffset_t i = 0; i < method.plan.delegates()->size(); ++i) {
    const schema::BackendDelegate& delegate = *method.plan.delegates()->Get(i);
    const std::string_view id = delegate.id()->string_view();
    TENON_TRY(const BackendUse* use, loader.use_backend(id));
    auto estimate = estimate_delegate(*use->backend, *method.program, loader.method_name, delegate,
                                      loader.named_data, use->runtime_specs);
    if (!estimate.ok()) {
      if (method.options.failed_delegate) *method.options.failed_delegate = i;
      return std::move(estimate).status().with_context(concat("delegate ", i, " (", id, ")"));
    }
    delegates.push_back(*std::move(estimate));
  }
  return method.budget->take_delegates(std::move(delegates));
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
[[nodiscard]] inline Status build(MethodState& method, Loading& loading,
                                  const MergedDataMap* external) {
  if (!method.options.backend_options.empty()) [[unlikely]] {
    TENON_RETURN_IF_ERROR(check_used(method, method.options.backend_options));
  }
  for (const auto& part : method.parts) TENON_RETURN_IF_ERROR(part->before_load(loading));
  if (!method.options.budget.empty()) TENON_RETURN_IF_ERROR(take_budget(method, loading));
  TENON_RETURN_IF_ERROR(
      find_devices(method.plan, method.options.backends, loading, method.devices));
  TENON_RETURN_IF_ERROR(allocate_planned(method.plan, loading, method.devices,
                                         method.options.limits.planned_bytes, method.budget.get(),
                                         method.planned));
  TENON_TRY(method.values, ValueBuilder(method.program->view(), method.plan, method.arena,
                                        method.planned, external)
                               .build());
  TENON_TRY(method.inputs, find_inputs(method.plan, method.values, method.devices, method.arena));
  std::uint32_t unset = 0;
  for (const MethodInput& input : method.inputs) unset += input.is_set ? 0U : 1U;
  method.blocked.store(unset, std::memory_order_relaxed);
  TENON_RETURN_IF_ERROR(load_delegates(method, loading));
  TENON_TRY(method.chains,
            InstructionBuilder(method.plan, method.values, method.delegates, method.options.kernels,
                               method.copy_kernels, method.plugin_kernels, loading, method.arena)
                .build());
  TENON_RETURN_IF_ERROR(SharedDevices(method.devices).check(method.chains));
  const tenon_tracer* const tracer = method.options.trace ? method.options.trace->table() : nullptr;
  method.kernel_context = {kernel_host(),  loading.method_name,    method.temp_arena.table(),
                           tracer,         method.changes.table(), loading.cancel_flag,
                           loading.threads};
  return ok();
}

/// Errors as those of `Method::load`.
[[nodiscard]] inline Status load_into(MethodState& method) {
  std::shared_ptr<const MergedDataMap> external;
  if (!method.options.data_files.empty()) {
    TENON_TRY(method.data, MergedDataMap::create(method.program, method.options.data_files));
    TENON_TRY(external, MergedDataMap::create(nullptr, method.options.data_files));
  }
  if (method.options.cancellable) {
    TENON_TRY(method.control, make_control(method));
  }
  choose_run(method);
  const tenon_scheduling scheduling = tenon::detail::to_abi(method.options.scheduling);
  Loading loading{.method = method,
                  .parts = method.parts,
                  .program = *method.program,
                  .method_name = name_of(method).data(),
                  .registry = method.options.registry,
                  .backends = method.options.backends,
                  .named_data = named_data_of(method),
                  .trace = method.options.trace,
                  .options = method.options.backend_options,
                  .embedded_code = method.options.embedded_code,
                  .arena = method.arena,
                  .lent = &method.arena,
                  .temp_arena = method.temp_arena,
                  .changes = method.changes.table(),
                  .cancel_flag = method.control ? method.control->flag() : nullptr,
                  .threads = threads_of(method),
                  .scheduling = method.options.scheduling == Scheduling() ? nullptr : &scheduling,
                  .prepared = method.options.prepared,
                  .uses = method.uses};
  Status outcome = build(method, loading, external.get());
  if (method.budget) outcome = method.budget->explain(std::move(outcome));
  for (const auto& part : method.parts) {
    outcome = part->after_load(loading, std::move(outcome));
  }
  return outcome;
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
