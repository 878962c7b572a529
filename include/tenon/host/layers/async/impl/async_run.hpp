// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "tenon/abi/tensor.h"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/async/executor.hpp"
#include "tenon/host/layers/async/impl/event_source.hpp"
#include "tenon/host/layers/async/impl/memory_use.hpp"
#include "tenon/host/layers/async/impl/parked_run.hpp"
#include "tenon/host/layers/async/impl/started_runs.hpp"
#include "tenon/host/layers/cancel/impl/cancel_part.hpp"
#include "tenon/host/layers/observed/impl/observed_budget.hpp"
#include "tenon/host/layers/observed/impl/run_observers.hpp"
#include "tenon/host/loader/impl/method/instructions.hpp"
#include "tenon/host/loader/impl/method/interpret.hpp"
#include "tenon/host/loader/impl/method/loaded_delegate.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/impl/method/run_budget.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

[[nodiscard, gnu::cold]] inline Status no_memory_for_run(const MethodState& method) {
  return error(Error::MemoryAllocationFailed, "method ", method.name,
               ": no memory for an asynchronous run");
}

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
    if (auto* const observers = observers_of(method_)) observers->begin_instructions(method_);
    parked_.reset();
    was_asked_to_park_ = false;
    has_stopped_ = true;
    budget_.emplace(method_, observers_of(method_));
    position_ = {0, 0, budget_->next_slice()};
    status_ = {};
    walk(false);
  }

  /// Runs the rest.
  [[nodiscard]] Status go_on() {
    try {
      walk(true);
    } catch (const std::bad_alloc&) {
      return no_memory_for_run(method_);
    }
    return ok();
  }

  /// Whether every call is started, one of them is not complete, and its backend says when it is.
  /// True at most once in a run. False in a run that is cancelled: a thread waits for it, because
  /// it must end also when the backend says nothing.
  [[nodiscard]] bool may_park() noexcept {
    auto* const cancel = find_part<CancelPart>(method_);
    const bool is_cancelled = cancel && cancel->is_cancelled();
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
    if (so_far.ok()) so_far = started.ok() ? std::move(status_) : std::move(started);
    if (auto* const observers = observers_of(method_)) {
      so_far = observers->end_instructions(method_, std::move(so_far));
    }
    return so_far;
  }

 private:
  using Kind = schema::InstructionArguments;

  [[nodiscard]] Status wait_for_all() {
    while (true) {
      try {
        return runs_.wait_all();
      } catch (const std::bad_alloc&) {  // For a text. The others are waited for all the same.
        if (runs_.empty()) return no_memory_for_run(method_);
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
  /// without `may_wait`, an instruction that has to wait or computes here.
  void walk(bool may_wait) {
    if (is_over()) return;
    may_wait_ = may_wait;
    has_stopped_ = false;
    Status outcome = interpret(method_, *budget_, position_, *this);
    if (!outcome.ok()) status_ = std::move(outcome);
  }

 public:
  // How a run waits; see `interpret`.
  [[nodiscard]] static Status refuse(const ObservedBudget& budget, std::size_t chain,
                                     std::size_t index) {
    return budget.refusal(chain, index);
  }
  static void begin_instruction(const Instruction&) noexcept {}
  static void end_instruction(const Instruction&, std::size_t, std::size_t) noexcept {}

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

  std::optional<ObservedBudget> budget_;
  RunPosition position_;
  bool may_wait_ = false;
  bool has_stopped_ = false;
  Status status_;
  MemoryUse use_;
  StartedRuns runs_;  // Destroyed before the sources of its events.
  ParkedRun parked_;
  bool was_asked_to_park_ = false;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
