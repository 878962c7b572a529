// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/sessions/impl/method_states.hpp"
#include "tenon/host/layers/trace/impl/method_debug_handles.hpp"
#include "tenon/host/layers/trace/impl/method_recorder.hpp"
#include "tenon/host/layers/trace/intermediates.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/method/method.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// The recorder, which the first call makes.
[[nodiscard]] inline Result<MethodRecorder*> recorder_of(MethodState& method) {
  TENON_RETURN_IF_ERROR(check_idle(method));
  if (method.recorder) return method.recorder.get();
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
  method.recorder = std::move(made);
  return method.recorder.get();
}

}  // namespace detail

Result<std::vector<Intermediate>> Method::intermediates() {
  try {
    TENON_TRY(const detail::MethodRecorder* const recorder,
              detail::recorder_of(detail::state_of(*this)));
    return recorder->all();
  } catch (const std::bad_alloc&) {
    return error(Error::MemoryAllocationFailed, "no memory for the names of intermediates");
  }
}

Status Method::record_intermediates(std::span<const std::size_t> numbers) {
  detail::MethodState& method = detail::state_of(*this);
  try {
    TENON_TRY(detail::MethodRecorder* const recorder, detail::recorder_of(method));
    Status asked = recorder->ask(numbers);
    detail::choose_run(method);
    return asked;
  } catch (const std::bad_alloc&) {
    return error(Error::MemoryAllocationFailed, "no memory for what to record");
  }
}

std::span<const IntermediateTensor> Method::recorded_intermediates() const noexcept {
  const auto& recorder = detail::state_of(*this).recorder;
  return recorder ? recorder->recorded() : std::span<const IntermediateTensor>();
}

}}}  // namespace tenon::TENON_RELEASE::host
