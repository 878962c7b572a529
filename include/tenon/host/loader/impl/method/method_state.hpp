// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/async/impl/async_runs.hpp"
#include "tenon/host/layers/budget/impl/method_budget.hpp"
#include "tenon/host/layers/cancel/impl/run_control.hpp"
#include "tenon/host/layers/data/merged_data_map.hpp"
#include "tenon/host/layers/devices/device_memory.hpp"
#include "tenon/host/layers/devices/impl/copy_kernels.hpp"
#include "tenon/host/layers/kernels/impl/plugin_kernels.hpp"
#include "tenon/host/layers/trace/impl/method_recorder.hpp"
#include "tenon/host/loader/impl/method/arena.hpp"
#include "tenon/host/loader/impl/method/bind_inputs.hpp"
#include "tenon/host/loader/impl/method/errors.hpp"
#include "tenon/host/loader/impl/method/instructions.hpp"
#include "tenon/host/loader/impl/method/loaded_delegate.hpp"
#include "tenon/host/loader/impl/method/planned_buffers.hpp"
#include "tenon/host/loader/method/method.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The state of a method, which `load` fills. `Method` shows it to applications without its types.
/// At most 1,032 bytes, a size that glibc keeps lists of: so it is apart from what its arena hands
/// out first.
struct MethodState final : Method {
  /// The bit of `blocked` that an asynchronous run sets. The others count inputs that are not set.
  static constexpr std::uint32_t running = std::uint32_t{1} << 31;

  MethodState(std::shared_ptr<const Program>&& its_program, const schema::ExecutionPlan& its_plan,
              const ProgramVariant* its_variant, MethodOptions&& its_options,
              MethodParts&& its_parts)
      : program(std::move(its_program)),
        plan(its_plan),
        variant(its_variant),
        options(std::move(its_options)),
        parts(std::move(its_parts)) {}

  ~MethodState() override {
    // Not only by destroying it: until then a completion may start the next run.
    if (async_runs) async_runs->wait();
    async_runs.reset();
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) (*part)->before_destroy(*this);
    plugin_kernels.clear();
    for (const Delegate& delegate : delegates) delegate.destroy();
  }

  // Members are destroyed in reverse order: backends (and with them plugins) after planned memory
  // and before the arena, which has what names them; the program last.
  std::shared_ptr<const Program> program;
  const schema::ExecutionPlan& plan;
  const ProgramVariant* variant;  ///< Null when the method has a single form.
  MethodOptions options;
  MethodParts parts;
  std::shared_ptr<const MergedDataMap> data;  ///< Null without data files.
  std::unique_ptr<MethodBudget> budget;       ///< Null without one. The arenas count in it.
  Arena arena;
  BackendUses uses{arena};
  DeviceMemories devices;
  CopyKernels copy_kernels{devices};
  PlannedBuffers planned;
  Arena temp_arena;
  Changes changes;
  std::span<tenon_value> values;
  std::span<MethodInput> inputs;
  /// Not 0: `execute` is refused. See `running`.
  std::atomic<std::uint32_t> blocked = 0;
  /// Runs the method where runs are observed; null: `run_all<CompleteCalls>` does.
  Status (*run)(MethodState&) = nullptr;
  std::span<Delegate> delegates;
  PluginKernels plugin_kernels;
  std::span<const Chain> chains;
  HostExecutionContext kernel_context;
  std::unique_ptr<RunControl> control;       ///< Null when runs cannot be cancelled.
  std::unique_ptr<MethodRecorder> recorder;  ///< Null until intermediates are asked for.
  std::unique_ptr<AsyncRuns> async_runs;
  std::atomic<AsyncRuns*> hurried_runs = nullptr;  ///< The same, for a thread that cancels.
};

[[nodiscard]] inline MethodState& state_of(Method& method) noexcept {
  return static_cast<MethodState&>(method);
}
[[nodiscard]] inline const MethodState& state_of(const Method& method) noexcept {
  return static_cast<const MethodState&>(method);
}

/// The part of class `Part` in `method`; null without one.
template <std::derived_from<MethodPart> Part>
[[nodiscard]] Part* find_part(const MethodState& method) noexcept {
  for (const auto& part : method.parts) {
    if (part->kind() == &Part::key) return static_cast<Part*>(part.get());
  }
  return nullptr;
}

/// Sets `run` of a method whose options, control or recorder ask for it. The layer observed defines
/// it.
void choose_run(MethodState& method) noexcept;

/// The method's, which a plan of a variant does not have. With a NUL behind it.
[[nodiscard]] inline std::string_view name_of(const MethodState& method) noexcept {
  return method.variant ? method.variant->method : method.plan.name()->string_view();
}
/// The named data of the program and of the data files; null when there is none.
[[nodiscard]] inline const tenon_named_data_map* named_data_of(const MethodState& method) noexcept {
  return method.data ? method.data->abi() : method.program->named_data();
}
[[nodiscard]] inline MethodErrors errors_of(const MethodState& method) noexcept {
  return {method.plan};
}
[[nodiscard]] inline tenon_value& value_at(const MethodState& method,
                                           const flatbuffers::Vector<std::int32_t>& indices,
                                           std::size_t index) noexcept {
  return method
      .values[static_cast<std::size_t>(indices.Get(static_cast<flatbuffers::uoffset_t>(index)))];
}

[[nodiscard, gnu::cold]] inline Status run_is_pending(const MethodState& method) {
  return error(Error::InvalidState, "method ", name_of(method),
               ": a run is pending; it has ended when its completion is called");
}

/// Fails while an asynchronous run is pending.
[[nodiscard]] inline Status check_idle(const MethodState& method) {
  if (method.blocked.load(std::memory_order_acquire) < MethodState::running) [[likely]]
    return ok();
  return run_is_pending(method);
}

[[nodiscard]] inline Status check_used(const MethodState& method,
                                       std::span<const BackendOption> options) {
  return check_backends_used(options, *method.program, method.plan, name_of(method));
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
