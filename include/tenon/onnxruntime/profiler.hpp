// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/trace/trace.hpp"
#include "tenon/onnxruntime/bridge.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace ort {

/// The events of a session. Empty until ONNX Runtime starts its profile: a session
/// without one pays nothing.
struct SessionTrace {
  std::optional<host::Trace> trace;
  std::int64_t start_ns = 0;  ///< Of the trace, on the profile's clock.
};

/// Gives the loads, runs and backends' own events of a session to ONNX Runtime's profile.
class Profiler final : public EpProfiler {
 public:
  /// `backend` is the provider's id.
  Profiler(std::shared_ptr<const Bridge> bridge, std::string backend,
           std::shared_ptr<SessionTrace> session)
      : bridge_(std::move(bridge)), backend_(std::move(backend)), session_(std::move(session)) {
    release = [](EpProfiler* self) { delete static_cast<Profiler*>(self); };
    start_profiling = [](EpProfiler* self, std::int64_t offset_ns) -> StatusPointer {
      SessionTrace& started = *static_cast<Profiler*>(self)->session_;
      started.trace.emplace();
      started.start_ns = offset_ns;
      return nullptr;
    };
    end_profiling = [](EpProfiler* self, ProfilingEventsContainer* out) -> StatusPointer {
      auto& profiler = *static_cast<Profiler*>(self);
      return profiler.bridge_->runtime.guarded([&] { return profiler.give(*out); });
    };
  }

 private:
  [[nodiscard]] Status give(ProfilingEventsContainer& out) {
    if (!session_->trace) return ok();
    for (const host::Trace::Event& event : session_->trace->finish()) {
      if (!event.counter) TENON_RETURN_IF_ERROR(give_event(event, out));
    }
    return ok();
  }

  [[nodiscard]] Status give_event(const host::Trace::Event& event, ProfilingEventsContainer& out) {
    const Runtime& runtime = bridge_->runtime;
    std::vector<const char*> keys;
    std::vector<const char*> values;
    for (const auto& [key, value] : event.args) {
      keys.push_back(key.c_str());
      values.push_back(value.c_str());
    }
    constexpr std::int32_t process = 1;  // As in all traces of Tenon.
    const auto at_ns = session_->start_ns + static_cast<std::int64_t>(event.start_ns);
    const bool is_of_backend = event.category == "backend";
    ProfilingEvent* made = nullptr;
    TENON_RETURN_IF_ERROR(runtime.check(
        ep_api::CreateProfilingEvent,
        is_of_backend ? ProfilingEventCategory::Kernel : ProfilingEventCategory::Api, process,
        static_cast<std::int32_t>(event.thread), concat(backend_, ": ", event.name).c_str(),
        at_ns / 1000, static_cast<std::int64_t>((event.end_ns - event.start_ns) / 1000),
        keys.data(), values.data(), keys.size(), &made));
    const ProfilingEvent* const given = made;
    Status status =
        runtime.check(ep_api::ProfilingEventsContainer_AddEvents, &out, &given, std::size_t{1});
    runtime.call(ep_api::ReleaseProfilingEvent, made);
    return status;
  }

  const std::shared_ptr<const Bridge> bridge_;
  const std::string backend_;
  const std::shared_ptr<SessionTrace> session_;
};

}}}  // namespace tenon::TENON_RELEASE::ort
