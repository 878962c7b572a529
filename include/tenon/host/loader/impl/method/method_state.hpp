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
#include "tenon/host/loader/impl/method/arena.hpp"
#include "tenon/host/loader/impl/method/bind_inputs.hpp"
#include "tenon/host/loader/impl/method/device_space.hpp"
#include "tenon/host/loader/impl/method/errors.hpp"
#include "tenon/host/loader/impl/method/instructions.hpp"
#include "tenon/host/loader/impl/method/kernel_host.hpp"
#include "tenon/host/loader/impl/method/loaded_delegate.hpp"
#include "tenon/host/loader/impl/method/planned_buffers.hpp"
#include "tenon/host/loader/method/method.hpp"
#include "tenon/host/loader/plugin/host_info.hpp"
#include "tenon/host/loader/registry/registry.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The state of a method, which `load` fills. `Method` shows it to applications without its types.
/// At most 1,032 bytes, a size that glibc keeps lists of: so it is apart from what its arena hands
/// out first.
struct MethodState final : Method {
  /// The bit of `blocked` that an asynchronous run sets. The others count inputs that are not set.
  static constexpr std::uint32_t running = std::uint32_t{1} << 31;

  MethodState(std::shared_ptr<const Program>&& its_program, const schema::ExecutionPlan& its_plan,
              std::string_view its_name, MethodOptions&& its_options, MethodParts&& its_parts)
      : program(std::move(its_program)),
        plan(its_plan),
        name(its_name),
        options(std::move(its_options)),
        parts(std::move(its_parts)) {}

  ~MethodState() override {
    for (const auto& part : parts) part->finish_runs(*this);
    for (const MethodParts* const each : {&late_parts, &parts}) {
      for (auto part = each->rbegin(); part != each->rend(); ++part) (*part)->before_destroy(*this);
    }
    for (const Delegate& delegate : delegates) delegate.destroy();
  }

  // Members are destroyed in reverse order: backends (and with them plugins) after planned memory
  // and before the arena, which has what names them; the program last.
  std::shared_ptr<const Program> program;
  const schema::ExecutionPlan& plan;
  std::string_view name;  ///< In the program, with a NUL behind it.
  MethodOptions options;
  MethodParts parts;       ///< Fixed when `load` begins.
  MethodParts late_parts;  ///< See `late_part`.
  KernelHost kernel_host{
      parts, options.registry ? options.registry->extensions() : std::span<const HostExtension>()};
  /// The data that delegates see: of the program, or of a layer; null when there is none.
  const tenon_named_data_map* named_data = program->named_data();
  Arena arena;
  BackendUses uses{arena};
  DeviceSpace* devices = nullptr;  ///< Of the part of the layer devices; null without one.
  PlannedBuffers planned;
  Arena temp_arena;
  Changes changes;
  std::span<tenon_value> values;
  std::span<MethodInput> inputs;
  /// Not 0: `execute` is refused. See `running`.
  std::atomic<std::uint32_t> blocked = 0;
  /// A layer's way to run the method; null: `run_all<CompleteCalls>`.
  Status (*run)(MethodState&) = nullptr;
  std::span<Delegate> delegates;
  std::span<const Chain> chains;
  CallContext kernel_context;
};

[[nodiscard]] inline MethodState& state_of(Method& method) noexcept {
  return static_cast<MethodState&>(method);
}
[[nodiscard]] inline const MethodState& state_of(const Method& method) noexcept {
  return static_cast<const MethodState&>(method);
}

template <std::derived_from<MethodPart> Part>
[[nodiscard]] Part* find_part(const MethodParts& parts) noexcept {
  for (const auto& part : parts) {
    if (part->kind() == &Part::key) return static_cast<Part*>(part.get());
  }
  return nullptr;
}

/// The part of class `Part` that was attached to `method`; null without one. From any thread.
template <std::derived_from<MethodPart> Part>
[[nodiscard]] Part* find_part(const MethodState& method) noexcept {
  return find_part<Part>(method.parts);
}

/// The part of class `Part` that `late_part` added to `method`, or null. Not while another
/// thread adds one.
template <std::derived_from<MethodPart> Part>
[[nodiscard]] Part* find_late_part(const MethodState& method) noexcept {
  return find_part<Part>(method.late_parts);
}

/// The part of class `Part` that the first call adds to `method`, in its load or later. It
/// is apart from those that were attached, since any thread may look these up. Of the functions of
/// a part, `before_destroy` alone is called.
template <std::derived_from<MethodPart> Part>
[[nodiscard]] Part& late_part(MethodState& method) {
  if (Part* const part = find_late_part<Part>(method)) return *part;
  auto part = std::make_unique<Part>(method);
  Part& out = *part;
  method.late_parts.push_back(std::move(part));
  return out;
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
  return error(Error::InvalidState, "method ", method.name,
               ": a run is pending; it has ended when its completion is called");
}

/// The failure of a function that needs a layer which `method` lacks.
[[nodiscard, gnu::cold]] inline Status missing_layer(Error code, const MethodState& method,
                                                     std::string_view layer) {
  return error(code, "method ", method.name, ": it was loaded without the layer ", layer,
               " (MethodOptions::layers)");
}

/// Fails while an asynchronous run is pending.
[[nodiscard]] inline Status check_idle(const MethodState& method) {
  if (method.blocked.load(std::memory_order_acquire) < MethodState::running) [[likely]]
    return ok();
  return run_is_pending(method);
}

/// Fails when an option is for a backend that neither a delegate nor a part of the method uses.
[[nodiscard]] inline Status check_used(const MethodState& method,
                                       std::span<const BackendOption> options) {
  for (const BackendOption& option : options) {
    bool used = false;
    for (const auto* delegate : *method.plan.delegates()) {
      used = used || delegate->id()->string_view() == option.backend_id;
    }
    for (const auto& part : method.parts) used = used || part->may_use(option.backend_id);
    if (!used) {
      return error(Error::InvalidArgument, "option ", option.backend_id, ".", option.key,
                   ": no delegate of the method uses that backend");
    }
  }
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
