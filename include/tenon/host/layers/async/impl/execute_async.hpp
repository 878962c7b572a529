// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/async/execute_async.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/async/async.hpp"
#include "tenon/host/layers/async/executor.hpp"
#include "tenon/host/layers/async/impl/async_run.hpp"
#include "tenon/host/layers/async/impl/pending_runs.hpp"
#include "tenon/host/layers/cancel/impl/cancel_part.hpp"
#include "tenon/host/layers/observed/impl/run_observers.hpp"
#include "tenon/host/loader/files/shortened.hpp"
#include "tenon/host/loader/impl/method/interpret.hpp"
#include "tenon/host/loader/impl/method/loading.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/layer.hpp"
#include "tenon/host/loader/method/method.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// Around each asynchronous run. False: another run is pending or going on.
[[nodiscard]] inline bool begin_async_run(MethodState& method) {
  const std::uint32_t before =
      method.blocked.fetch_or(MethodState::running, std::memory_order_acquire);
  if ((before & MethodState::running) != 0) return false;
  auto* const observers = observers_of(method);
  if (!observers || observers->begin_run(method)) return true;
  method.blocked.fetch_and(~MethodState::running, std::memory_order_release);
  return false;
}
[[nodiscard]] inline Status end_async_run(MethodState& method, Status outcome) {
  if (auto* const observers = observers_of(method)) {
    outcome = observers->end_run(method, std::move(outcome));
  }
  method.blocked.fetch_and(~MethodState::running, std::memory_order_release);
  return outcome;
}

/// The state that a method needs for `execute_async`, made by its first call.
class AsyncRuns final : private AsyncOwner {
 public:
  /// `executor` must outlive this object.
  AsyncRuns(MethodState& method, const Executor& executor)
      : method_(method), executor_(executor), run_(method) {}

  /// Waits for all runs and their completions, except those that the calling thread is in.
  void wait() {
    run_.hurry(true);  // A destructor must not depend on a plugin that says when a run is over.
    pending_->wait();
  }
  /// A thread of the executor now waits for the run that is going on, if none does. From any
  /// thread.
  void hurry() noexcept { run_.hurry(false); }

  /// Of a run that has begun.
  [[nodiscard]] Status start(Completion completion) {
    try {
      if (starts_delegates()) run_.begin();
      return pending_->add(*this, executor_, std::move(completion));
    } catch (const std::bad_alloc&) {
      return end_run(no_memory_for_run(method_));
    }
  }

 private:
  Status go_on() noexcept override { return starts_delegates() ? run_.go_on() : ok(); }
  bool may_park() noexcept override { return starts_delegates() && run_.may_park(); }
  void park(Executor::Wake wake) noexcept override { run_.park(std::move(wake)); }

  Status end_run(Status so_far) noexcept override {
    Status outcome;
    try {
      if (starts_delegates()) {
        outcome = shortened(run_.end(std::move(so_far)));
      } else {
        outcome = so_far.ok() ? shortened(run_instructions()) : std::move(so_far);
      }
    } catch (const std::bad_alloc&) {
      outcome = no_memory_for_run(method_);
    }
    return end_async_run(method_, std::move(outcome));
  }

  [[nodiscard]] Status run_instructions() {
    auto* const observers = observers_of(method_);
    return observers ? observers->run_instructions(method_) : run_all<CompleteCalls>(method_);
  }

  /// Whether a run does more than `Method::execute` on another thread.
  [[nodiscard]] bool starts_delegates() const noexcept {
    if (!run_.has_sources()) return false;
    const auto* const observers = observers_of(method_);
    return !observers || observers->watchers().empty();
  }

  MethodState& method_;
  const Executor& executor_;
  AsyncRun run_;
  const std::shared_ptr<PendingRuns> pending_ = std::make_shared<PendingRuns>();
};

/// The executor of a method, and its asynchronous runs.
class AsyncPart final : public PartOf<AsyncPart>, public CancelListener {
 public:
  explicit AsyncPart(Executor executor) noexcept : executor_(std::move(executor)) {}

  [[nodiscard]] Status before_load(Loading& loading) override {
    if (auto* const cancel = find_part<CancelPart>(loading.method)) cancel->add_listener(*this);
    return ok();
  }

  /// The run may be parked: a thread waits for it from now on.
  void cancelled() noexcept override {
    if (AsyncRuns* const runs = hurried_.load(std::memory_order_acquire)) runs->hurry();
  }

  void finish_runs(MethodState&) noexcept override {
    // Not only by destroying it: until then a completion may start the next run.
    wait();
    runs_.reset();
  }
  void wait() {
    if (runs_) runs_->wait();
  }

  [[nodiscard]] Status start(MethodState& method, Completion completion) {
    if (!completion) {
      return error(Error::InvalidArgument, "method ", method.name,
                   ": execute_async needs a completion");
    }
    if (!begin_async_run(method)) return run_is_pending(method);
    try {
      if (!runs_) {
        runs_ = std::make_unique<AsyncRuns>(method, executor_);
        hurried_.store(runs_.get(), std::memory_order_release);
      }
    } catch (const std::bad_alloc&) {
      return end_async_run(method, no_memory_for_run(method));
    }
    return runs_->start(std::move(completion));
  }

 private:
  const Executor executor_;
  std::unique_ptr<AsyncRuns> runs_;
  std::atomic<AsyncRuns*> hurried_ = nullptr;  ///< `runs_`, for a thread that cancels.
};

void wait_for_runs(Method& method) {
  if (auto* const part = find_part<AsyncPart>(state_of(method))) part->wait();
}

}  // namespace detail

Result<std::unique_ptr<detail::MethodPart>> Async::attach(detail::LoadRequest&) const {
  if (!executor_) return nullptr;
  return std::make_unique<detail::AsyncPart>(executor_);
}

Status Method::execute_async(Completion completion) {
  detail::MethodState& method = detail::state_of(*this);
  if (method.blocked.load(std::memory_order_acquire) != 0) return detail::refuse_run(method);
  auto* const part = detail::find_part<detail::AsyncPart>(method);
  if (!part) return detail::missing_layer(Error::InvalidArgument, method, "Async");
  return part->start(method, std::move(completion));
}

}}}  // namespace tenon::TENON_RELEASE::host
