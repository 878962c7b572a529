// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/abi/status.h"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/observed/impl/run_observer.hpp"
#include "tenon/host/layers/observed/impl/run_observers.hpp"
#include "tenon/host/layers/sessions/impl/method_states.hpp"
#include "tenon/host/layers/trace/impl/method_debug_handles.hpp"
#include "tenon/host/layers/trace/impl/method_recorder.hpp"
#include "tenon/host/layers/trace/intermediates.hpp"
#include "tenon/host/loader/impl/method/instructions.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/layer.hpp"
#include "tenon/host/loader/method/method.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// The recorder of a method as a part of it. It observes runs while something is asked for.
class RecorderPart final : public PartOf<RecorderPart>, public RunObserver {
 public:
  explicit RecorderPart(const MethodState&) noexcept {}

  void begin_instructions(MethodState&) noexcept override { recorder->begin_run(); }
  [[nodiscard]] Status end_instructions(MethodState&, Status outcome) override {
    return recorder->end_run(std::move(outcome));
  }
  [[nodiscard]] tenon_status result(MethodState&, const Instruction& at,
                                    tenon_status status) noexcept override {
    const bool is_kernel = at.kind == schema::InstructionArguments::KernelCall;
    return is_kernel && status == TENON_STATUS_OK ? recorder->take_kernel(at) : status;
  }

  /// Null until intermediates were found.
  std::unique_ptr<MethodRecorder> recorder;
};

/// The part with a recorder, which the first call makes.
[[nodiscard]] inline Result<RecorderPart*> recorder_of(MethodState& method) {
  TENON_RETURN_IF_ERROR(check_idle(method));
  RecorderPart& part = late_part<RecorderPart>(method);
  if (part.recorder) return &part;
  DebugHandles handles;
  const std::string key = concat(debug_handles_key, method.plan.name()->string_view());
  tenon_buffer found{};
  found.struct_size = sizeof found;
  const tenon_named_data_map* const data = method.named_data;
  if (data && data->get_data(data, key.data(), key.size(), &found) == TENON_STATUS_OK) {
    TENON_TRY(handles, DebugHandles::read({static_cast<const char*>(found.data),
                                           static_cast<std::size_t>(found.nbytes)}));
  }
  auto made = std::make_unique<MethodRecorder>(method.plan, method.chains, method.delegates,
                                               method.devices, method.options.limits);
  TENON_RETURN_IF_ERROR(made->find(handles, own_handles(method)));
  part.recorder = std::move(made);
  return &part;
}

}  // namespace detail

Result<std::vector<Intermediate>> Method::intermediates() {
  try {
    TENON_TRY(const detail::RecorderPart* const part, detail::recorder_of(detail::state_of(*this)));
    return part->recorder->all();
  } catch (const std::bad_alloc&) {
    return error(Error::MemoryAllocationFailed, "no memory for the names of intermediates");
  }
}

Status Method::record_intermediates(std::span<const std::size_t> numbers) {
  detail::MethodState& method = detail::state_of(*this);
  try {
    TENON_TRY(detail::RecorderPart* const part, detail::recorder_of(method));
    // First, because there may be no memory for it.
    detail::observe(method, *part, {.sees_instructions = true});
    Status asked = part->recorder->ask(numbers);
    if (!part->recorder->is_recording()) detail::unobserve(method, *part);
    return asked;
  } catch (const std::bad_alloc&) {
    return error(Error::MemoryAllocationFailed, "no memory for what to record");
  }
}

std::span<const IntermediateTensor> Method::recorded_intermediates() const noexcept {
  auto* const part = detail::find_late_part<detail::RecorderPart>(detail::state_of(*this));
  if (!part || !part->recorder) return {};
  return part->recorder->recorded();
}

}}}  // namespace tenon::TENON_RELEASE::host
