// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/async/execute_async.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "tenon/abi/tensor.h"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/async/impl/async_runs.hpp"
#include "tenon/host/layers/async/impl/event_source.hpp"
#include "tenon/host/layers/async/impl/memory_use.hpp"
#include "tenon/host/layers/async/impl/parked_run.hpp"
#include "tenon/host/layers/async/impl/pending_runs.hpp"
#include "tenon/host/layers/async/impl/started_runs.hpp"
#include "tenon/host/layers/observed/impl/observed_run.hpp"
#include "tenon/host/loader/files/shortened.hpp"
#include "tenon/host/loader/impl/method/instructions.hpp"
#include "tenon/host/loader/impl/method/interpret.hpp"
#include "tenon/host/loader/impl/method/loaded_delegate.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/impl/method/run_budget.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// A run of a method whose delegates are started where their backends have events: a call that
/// needs no bytes of an earlier one does not wait for it. Made at a method's first asynchronous
/// run.
///
/// One thread at a time, which may change between `walk` and `end`.
class AsyncRun {
 public:
  explicit AsyncRun(MethodState& method)
      : method_(method), runs_([this](std::size_t chain, std::size_t index) {
          const Delegate& of = *method_.chains[chain][index].delegate;
          return concat(errors_of(method_).where(chain, index), ": delegate ",
                        &of - method_.delegates.data(), " (", of.use->backend->id(), ")");
        }) {
    find_sources();
    if (has_sources()) find_reads();
  }
  AsyncRun(const AsyncRun&) = delete;
  AsyncRun& operator=(const AsyncRun&) = delete;

  /// Whether a delegate of the method can be started at all.
  [[nodiscard]] bool has_sources() const noexcept { return !sources_.empty(); }

  /// Begins a run and starts what can be started without waiting: up to the first instruction that
  /// waits, or computes on the calling thread.
  void begin() {
    parked_.reset();
    was_asked_to_park_ = false;
    has_stopped_ = true;
    budget_.emplace(method_.options.limits, method_.control.get());
    position_ = {0, 0, budget_->next_slice()};
    status_ = {};
    walk(false);
  }

  /// Runs the rest.
  [[nodiscard]] Status go_on() {
    try {
      walk(true);
    } catch (const std::bad_alloc&) {
      return errors_of(method_).no_memory_for_run();
    }
    return ok();
  }

  /// Whether every call is started, one of them is not complete, and its backend says when it is.
  /// True at most once in a run. False in a run that is cancelled: a thread waits for it, because
  /// it must end also when the backend says nothing.
  [[nodiscard]] bool may_park() noexcept {
    const bool is_cancelled = method_.control && method_.control->is_cancelled();
    if (was_asked_to_park_ || !is_over() || is_cancelled || !parked_.may_park()) return false;
    was_asked_to_park_ = runs_.can_park();
    return was_asked_to_park_;
  }
  void park(Executor::Wake wake) noexcept { runs_.park(parked_, std::move(wake)); }

  /// Wakes a run that is parked; with `for_good` none is parked any more. From any thread.
  void hurry(bool for_good) noexcept { for_good ? parked_.stop() : parked_.hurry(); }

  /// Waits for all that was started.
  [[nodiscard]] Status end(Status so_far) {
    Status started = wait_for_all();
    parked_.end();
    if (!so_far.ok()) return so_far;
    return started.ok() ? std::move(status_) : std::move(started);
  }

 private:
  using Kind = schema::InstructionArguments;

  [[nodiscard]] Status wait_for_all() {
    while (true) {
      try {
        return runs_.wait_all();
      } catch (const std::bad_alloc&) {  // For a text. The others are waited for all the same.
        if (runs_.empty()) return errors_of(method_).no_memory_for_run();
      }
    }
  }

  void find_sources() {
    of_delegate_.resize(method_.delegates.size());
    std::vector<const BackendUse*> asked;
    std::vector<EventSource*> answers;
    for (std::size_t i = 0; i < method_.delegates.size(); ++i) {
      const BackendUse* const use = method_.delegates[i].use;
      const auto known = std::find(asked.begin(), asked.end(), use);
      if (known != asked.end()) {
        of_delegate_[i] = answers[static_cast<std::size_t>(known - asked.begin())];
        continue;
      }
      if (auto source = EventSource::of(*use->backend)) {
        of_delegate_[i] = &sources_.emplace_back(*std::move(source));
      }
      asked.push_back(use);
      answers.push_back(of_delegate_[i]);
    }
  }

  /// Which arguments of calls are read alone. Programs do not say so. Constants are. Of a
  /// delegate's arguments the method's inputs are, which only kernels write (`copy_`), and, where
  /// instructions have one order, those before its first new value: outputs come last, and such
  /// programs write each value once, but for the buffers of the model. A call without a new value
  /// may write all of them.
  void find_reads() {
    std::vector<bool> is_input(method_.values.size());
    for (const std::int32_t input : *method_.plan.inputs()) {
      is_input[static_cast<std::size_t>(input)] = true;
    }
    std::vector<bool> is_known = is_input;
    const bool has_order = method_.chains.size() == 1 && !has_jumps();
    for (const auto& chain : method_.chains) {
      auto& firsts = first_flag_.emplace_back();
      for (const Instruction& at : chain) {
        firsts.push_back(is_read_.size());
        if (at.kind != Kind::DelegateCall && at.kind != Kind::KernelCall) continue;
        const bool by_delegate = at.kind == Kind::DelegateCall;
        std::uint32_t num_read = 0;
        while (num_read < at.num_args && is_read(*at.args[num_read], by_delegate, is_known)) {
          ++num_read;
        }
        const bool has_new = has_order && num_read < at.num_args;
        for (std::uint32_t i = 0; i < at.num_args; ++i) {
          is_read_.push_back(has_new ? i < num_read : is_read(*at.args[i], by_delegate, is_input));
        }
        if (!has_order) continue;
        for (std::uint32_t i = 0; i < at.num_args; ++i) {
          each_element(*at.args[i], [&](const tenon_value& value) {
            if (!is_buffer(value)) is_known[number_of(value)] = true;
          });
        }
      }
    }
  }

  [[nodiscard]] bool has_jumps() const {
    for (const auto& chain : method_.chains) {
      for (const Instruction& at : chain) {
        if (at.kind == Kind::JumpFalseCall || at.kind == Kind::MoveCall) return true;
      }
    }
    return false;
  }

  [[nodiscard]] std::size_t number_of(const tenon_value& value) const noexcept {
    return static_cast<std::size_t>(&value - method_.values.data());
  }

  /// Whether it is a buffer of the model, which a run may read before it writes it.
  [[nodiscard]] bool is_buffer(const tenon_value& value) const {
    const auto number = static_cast<flatbuffers::uoffset_t>(number_of(value));
    const schema::Tensor* const tensor = method_.plan.values()->Get(number)->val_as_Tensor();
    if (!tensor) return false;
    const schema::ExtraTensorInfo* const extra = tensor->extra_tensor_info();
    const bool is_named =
        extra && extra->fully_qualified_name() && extra->fully_qualified_name()->size() != 0;
    return is_named || tensor->data_buffer_idx() != 0;
  }

  [[nodiscard]] bool is_read(const tenon_value& value, bool by_delegate,
                             const std::vector<bool>& is_known) const {
    bool out = true;
    each_element(value, [&](const tenon_value& each) {
      const bool is_constant =
          each.kind == TENON_VALUE_TENSOR && (each.as.tensor->flags & TENON_TENSOR_CONSTANT) != 0;
      out = out && (is_constant || (by_delegate && is_known[number_of(each)]));
    });
    return out;
  }

  /// The bytes that a call uses.
  void look_at(const Instruction& at, std::size_t chain, std::size_t index) {
    use_.clear();
    const std::size_t first = first_flag_[chain][index];
    for (std::uint32_t i = 0; i < at.num_args; ++i) use_.add(*at.args[i], is_read_[first + i]);
    use_.finish();
  }

  /// Whether no instruction is left to run.
  [[nodiscard]] bool is_over() const noexcept {
    return !has_stopped_ || !status_.ok() || runs_.has_failed();
  }

  /// Runs instructions until the end, a failure, which is in `status_` or found by `runs_`, or,
  /// without `may_wait`, one that has to wait or computes here.
  void walk(bool may_wait) {
    if (is_over()) return;
    may_wait_ = may_wait;
    has_stopped_ = false;
    Status outcome = interpret(method_, *budget_, position_, *this);
    if (!outcome.ok()) status_ = std::move(outcome);
  }

 public:
  // How a run waits; see `interpret`.
  [[nodiscard]] static std::uint64_t begin_instruction() noexcept { return 0; }
  static void end_instruction(const Instruction&, std::size_t, std::size_t,
                              std::uint64_t) noexcept {}

  [[nodiscard]] bool has_stopped() const noexcept { return has_stopped_; }

  tenon_status delegate(const Instruction& at, std::size_t chain, std::size_t index) {
    EventSource* const source =
        of_delegate_[static_cast<std::size_t>(at.delegate - method_.delegates.data())];
    look_at(at, chain, index);
    if (source) {
      has_stopped_ = !start(at, *source, chain, index);
      return TENON_STATUS_OK;
    }
    if (!may_compute()) return TENON_STATUS_OK;
    return method_.changes.track([&] { return at.delegate->execute(at.args, at.num_args); });
  }

  tenon_status kernel(const Instruction& at, std::size_t chain, std::size_t index) {
    look_at(at, chain, index);
    return may_compute() ? run_kernel(method_, at) : tenon_status{TENON_STATUS_OK};
  }

  void condition(const tenon_value& value) {
    use_.clear();
    use_.add(value, true);
    use_.finish();
    has_stopped_ = !runs_.wait_for(use_, may_wait_) || runs_.has_failed();
  }

 private:
  /// Whether a call that is complete when it returns may be made; otherwise the run stops.
  [[nodiscard]] bool may_compute() {
    has_stopped_ = !may_wait_ || !runs_.wait_for(use_, true) || runs_.has_failed();
    return !has_stopped_;
  }

  /// False when the run stops.
  [[nodiscard]] bool start(const Instruction& at, EventSource& source, std::size_t chain,
                           std::size_t index) {
    const StartedRuns::Call call{&source, at.delegate->handle, &at.delegate->use->context,
                                 at.args, at.num_args,         chain,
                                 index};
    if (!runs_.order(call, use_, may_wait_)) return false;
    // What was waited for may have failed; then nothing is started on its results.
    if (!runs_.has_failed()) status_ = runs_.start(call, use_);
    method_.changes.count();
    method_.temp_arena.reset();
    return status_.ok() && !runs_.has_failed();
  }

  MethodState& method_;
  std::list<EventSource> sources_;                    // One for each backend that has events.
  std::vector<EventSource*> of_delegate_;             // Null where it has none.
  std::vector<std::vector<std::size_t>> first_flag_;  // Of each instruction, in `is_read_`.
  std::vector<bool> is_read_;                         // One for each argument.

  std::optional<RunBudget> budget_;
  RunPosition position_;
  bool may_wait_ = false;
  bool has_stopped_ = false;
  Status status_;
  MemoryUse use_;
  StartedRuns runs_;  // Destroyed before the sources of its events.
  ParkedRun parked_;
  bool was_asked_to_park_ = false;
};

/// Around each asynchronous run. False: another run is pending or going on.
[[nodiscard]] inline bool begin_async_run(MethodState& method) {
  const std::uint32_t before =
      method.blocked.fetch_or(MethodState::running, std::memory_order_acquire);
  if ((before & MethodState::running) != 0) return false;
  if (begin_run(method)) return true;
  method.blocked.fetch_and(~MethodState::running, std::memory_order_release);
  return false;
}
[[nodiscard]] inline Status end_async_run(MethodState& method, Status outcome) {
  outcome = end_run(method, std::move(outcome));
  method.blocked.fetch_and(~MethodState::running, std::memory_order_release);
  return outcome;
}

/// The state that a method needs for `execute_async`, made by its first call.
class MethodAsyncRuns final : public AsyncRuns, private AsyncOwner {
 public:
  explicit MethodAsyncRuns(MethodState& method) : method_(method), run_(method) {}

  void wait() override {
    run_.hurry(true);  // A destructor must not depend on a plugin that says when a run is over.
    pending_->wait();
  }
  void hurry() noexcept override { run_.hurry(false); }

  [[nodiscard]] static Status start(MethodState& method, Completion completion) {
    if (method.blocked.load(std::memory_order_acquire) != 0) return refuse_run(method);
    if (!method.options.executor || !completion) {
      return error(Error::InvalidArgument, "method ", method.name, ": execute_async needs ",
                   completion ? "an executor (MethodOptions::executor)" : "a completion");
    }
    if (!begin_async_run(method)) return run_is_pending(method);
    try {
      if (!method.async_runs) {
        method.async_runs = std::make_unique<MethodAsyncRuns>(method);
        method.hurried_runs.store(method.async_runs.get(), std::memory_order_release);
      }
    } catch (const std::bad_alloc&) {
      return end_async_run(method, errors_of(method).no_memory_for_run());
    }
    return static_cast<MethodAsyncRuns&>(*method.async_runs).start(std::move(completion));
  }

 private:
  [[nodiscard]] Status start(Completion completion) {
    try {
      if (starts_delegates()) run_.begin();
      return pending_->add(*this, method_.options.executor, std::move(completion));
    } catch (const std::bad_alloc&) {
      return end_run(errors_of(method_).no_memory_for_run());
    }
  }

  Status go_on() noexcept override { return starts_delegates() ? run_.go_on() : ok(); }
  bool may_park() noexcept override { return starts_delegates() && run_.may_park(); }
  void park(Executor::Wake wake) noexcept override { run_.park(std::move(wake)); }

  Status end_run(Status so_far) noexcept override {
    Status outcome;
    try {
      if (starts_delegates()) {
        outcome = shortened(run_.end(std::move(so_far)));
      } else {
        outcome = so_far.ok() ? shortened(method_.run ? run_begun(method_)
                                                      : run_all<CompleteCalls>(method_))
                              : std::move(so_far);
      }
    } catch (const std::bad_alloc&) {
      outcome = errors_of(method_).no_memory_for_run();
    }
    return end_async_run(method_, std::move(outcome));
  }

  /// Whether a run does more than `Method::execute` on another thread.
  [[nodiscard]] bool starts_delegates() const noexcept {
    return run_.has_sources() && !method_.options.trace && !is_recording(method_);
  }

  MethodState& method_;
  AsyncRun run_;
  const std::shared_ptr<PendingRuns> pending_ = std::make_shared<PendingRuns>();
};

}  // namespace detail

Status Method::execute_async(Completion completion) {
  return detail::MethodAsyncRuns::start(detail::state_of(*this), std::move(completion));
}

}}}  // namespace tenon::TENON_RELEASE::host
