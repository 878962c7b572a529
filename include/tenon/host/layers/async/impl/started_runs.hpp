// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/async/impl/event_source.hpp"
#include "tenon/host/layers/async/impl/memory_use.hpp"
#include "tenon/host/layers/async/impl/parked_run.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The delegate calls of one asynchronous run that were started and not waited for. A later call
/// that needs their bytes is ordered behind them by their events, or by waiting.
///
/// One thread at a time. `wait_all` before it is destroyed.
class StartedRuns {
 public:
  /// Calls in flight at once. With more the oldest is waited for, so that looking for conflicts
  /// costs a fixed number of comparisons per call.
  static constexpr std::size_t most = 32;

  /// One call of a delegate.
  struct Call {
    EventSource* source;
    tenon_delegate* delegate;
    const tenon_execution_context* context;
    tenon_value* const* args;
    std::uint32_t num_args;
    std::size_t chain;  ///< Where it is in the program, for messages.
    std::size_t index;
  };

  /// `where` makes the text in front of a failure of a call.
  explicit StartedRuns(std::function<std::string(std::size_t chain, std::size_t index)> where)
      : where_(std::move(where)) {}

  [[nodiscard]] bool empty() const noexcept { return active_.empty(); }
  [[nodiscard]] bool has_failed() const noexcept { return !failure_.ok(); }

  /// Waits for the calls that conflict with `use`. Without `may_wait`, false when there is one.
  [[nodiscard]] bool wait_for(const MemoryUse& use, bool may_wait) {
    return wait_unless(may_wait,
                       [&](const Started& before) { return !before.use.conflicts_with(use); });
  }

  /// Lets `call`, which uses `use`, begin after the calls that conflict with it. Without
  /// `may_wait`, false when the host has to wait for one of them.
  [[nodiscard]] bool order(const Call& call, const MemoryUse& use, bool may_wait) {
    if (active_.size() == most) {
      if (!may_wait) return false;
      wait_for_one(0);
    }
    // Runs of one delegate are in order without an event.
    return wait_unless(may_wait, [&](const Started& before) {
      return is_same_delegate(before.call, call) || !before.use.conflicts_with(use) ||
             call.source->wait_on(call.delegate, *before.call.source, before.event);
    });
  }

  /// Starts a call that `order` has put in its place. Takes the contents of `use`.
  [[nodiscard]] Status start(const Call& call, MemoryUse& use) {
    if (free_.empty()) {
      free_.push_back(std::make_unique<Started>());
      active_.reserve(active_.size() + free_.size());
      free_.reserve(active_.capacity());
    }
    Started& started = *free_.back();
    EventSource& source = *call.source;
    const tenon_events_v1& table = source.table();
    tenon_backend* const backend = source.backend().raw();
    TENON_TRY(started.event, source.take());
    Status status = source.check(
        table.start(backend, call.delegate, call.context, call.args, call.num_args), "start");
    if (status.ok()) {
      status = source.check(table.record(backend, call.delegate, started.event), "record");
    }
    if (!status.ok()) {
      source.put_back(started.event);
      return std::move(status).with_context(where_(call.chain, call.index));
    }
    started.call = call;
    std::swap(started.use, use);
    started.number = ++num_started_;
    active_.push_back(std::move(free_.back()));
    free_.pop_back();
    return ok();
  }

  /// Whether one of them is not complete whose backend calls a function when it is.
  [[nodiscard]] bool can_park() const noexcept {
    return std::any_of(active_.begin(), active_.end(), [](const auto& run) {
      const EventSource& source = *run->call.source;
      return source.table().on_complete && !source.is_complete(run->event);
    });
  }

  /// Has `wake` called once: when all of them are complete whose backends call functions, or as
  /// `parked` says. Another thread may then use this object, also before the call returns.
  void park(ParkedRun& parked, Executor::Wake wake) const noexcept {
    static_assert(most <= ParkedRun::most);
    const std::uintptr_t number = parked.expect_calls(active_.size());
    std::uint32_t refused = 0;
    for (std::size_t i = 0; i < active_.size(); ++i) {
      const EventSource& source = *active_[i]->call.source;
      const bool will_call = source.table().on_complete &&
                             source.table().on_complete(
                                 source.backend().raw(), active_[i]->event, &ParkedRun::function,
                                 reinterpret_cast<void*>(number + i)) == TENON_STATUS_OK;
      if (!will_call) refused |= ParkedRun::bit(i);
    }
    parked.wake_when_called(refused, std::move(wake));
  }

  /// Waits for all of them; std::bad_alloc leaves fewer to wait for. The failure of the first one,
  /// in the order in which they were started, that has failed since the last call.
  [[nodiscard]] Status wait_all() {
    while (!active_.empty()) wait_for_one(0);
    return std::exchange(failure_, {});
  }

 private:
  struct Started {
    Call call{};
    tenon_event* event = nullptr;
    MemoryUse use;
    std::uint64_t number = 0;
  };

  /// Null is a handle that several delegates may have.
  static bool is_same_delegate(const Call& a, const Call& b) noexcept {
    return a.source == b.source && a.delegate == b.delegate && a.delegate;
  }

  /// Waits for the calls of which `is_settled` is false. Without `may_wait`, false at the first.
  template <class IsSettled>
  [[nodiscard]] bool wait_unless(bool may_wait, IsSettled is_settled) {
    for (std::size_t i = 0; i < active_.size();) {
      if (is_settled(std::as_const(*active_[i]))) {
        ++i;
      } else if (may_wait) {
        wait_for_one(i);
      } else {
        return false;
      }
    }
    return true;
  }

  void wait_for_one(std::size_t i) {
    const Started& run = *active_[i];
    EventSource& source = *run.call.source;
    const tenon_status status =
        source.table().wait(source.backend().raw(), run.event, TENON_NO_TIMEOUT);
    // Whatever happens to the text, the run is over.
    source.put_back(run.event);
    free_.push_back(std::move(active_[i]));
    active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(i));
    if (status == TENON_STATUS_OK) return;
    if (!failure_.ok() && failed_number_ < run.number) return;
    failed_number_ = run.number;
    failure_ = source.check(status, "wait").with_context(where_(run.call.chain, run.call.index));
  }

  std::function<std::string(std::size_t, std::size_t)> where_;
  std::vector<std::unique_ptr<Started>> active_;
  std::vector<std::unique_ptr<Started>> free_;
  std::uint64_t num_started_ = 0;
  std::uint64_t failed_number_ = 0;
  Status failure_;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
