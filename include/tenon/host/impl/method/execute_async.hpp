// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/method/execute_async.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/abi/tensor.h"
#include "tenon/core/result.hpp"
#include "tenon/host/files/limits.hpp"
#include "tenon/host/files/shortened.hpp"
#include "tenon/host/impl/async/event_source.hpp"
#include "tenon/host/impl/async/memory_use.hpp"
#include "tenon/host/impl/async/pending_runs.hpp"
#include "tenon/host/impl/async/started_runs.hpp"
#include "tenon/host/impl/method/arena.hpp"
#include "tenon/host/impl/method/bind_inputs.hpp"
#include "tenon/host/impl/method/errors.hpp"
#include "tenon/host/impl/method/instructions.hpp"
#include "tenon/host/impl/method/loaded_delegate.hpp"
#include "tenon/host/impl/method/loaded_method.hpp"
#include "tenon/host/impl/method/run_budget.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon::host {

namespace detail {

/// A run of a method whose delegates are started where their backends have events: a call that
/// needs no bytes of an earlier one does not wait for it. Made at a method's first asynchronous
/// run.
///
/// One thread at a time, which may change between `walk` and `end`.
class AsyncRun {
 public:
  /// The parts of a method. Must outlive this.
  struct Parts {
    const schema::ExecutionPlan& plan;
    std::span<tenon_value> values;
    std::span<const LoadedDelegate> delegates;
    std::span<const std::span<const Instruction>> chains;
    const HostLimits& limits;
    const tenon_execution_context& kernel_context;
    const tenon_host* kernel_host;
    Arena& temp_arena;
    Changes& changes;
  };

  explicit AsyncRun(const Parts& parts)
      : parts_(parts), runs_([this](std::size_t chain, std::size_t index) {
          const LoadedDelegate& of = *parts_.chains[chain][index].delegate;
          return concat(errors().where(chain, index), ": delegate ", &of - parts_.delegates.data(),
                        " (", of.use->backend->id(), ")");
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
    budget_.emplace(parts_.limits);
    left_ = budget_->next_slice();
    condition_bytes_ = parts_.limits.condition_bytes;
    chain_ = index_ = 0;
    status_ = {};
    walk(false);
  }

  /// Runs the rest, unless `so_far` is a failure, and waits for all that was started.
  [[nodiscard]] Status end(Status so_far) {
    try {
      if (so_far.ok()) walk(true);
    } catch (const std::bad_alloc&) {
      so_far = errors().no_memory_for_run();
    }
    Status started = wait_for_all();
    if (!so_far.ok()) return so_far;
    return started.ok() ? std::move(status_) : std::move(started);
  }

 private:
  using Kind = schema::InstructionArguments;

  [[nodiscard]] MethodErrors errors() const noexcept { return {parts_.plan}; }
  [[nodiscard]] Status wait_for_all() {
    while (true) {
      try {
        return runs_.wait_all();
      } catch (const std::bad_alloc&) {  // For a text. The others are waited for all the same.
        if (runs_.empty()) return errors().no_memory_for_run();
      }
    }
  }

  void find_sources() {
    of_delegate_.resize(parts_.delegates.size());
    std::vector<const BackendUse*> asked;
    std::vector<EventSource*> answers;
    for (std::size_t i = 0; i < parts_.delegates.size(); ++i) {
      const BackendUse* const use = parts_.delegates[i].use;
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
    std::vector<bool> is_input(parts_.values.size());
    for (const std::int32_t input : *parts_.plan.inputs()) {
      is_input[static_cast<std::size_t>(input)] = true;
    }
    std::vector<bool> is_known = is_input;
    const bool has_order = parts_.chains.size() == 1 && !has_jumps();
    for (const auto& chain : parts_.chains) {
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
    for (const auto& chain : parts_.chains) {
      for (const Instruction& at : chain) {
        if (at.kind == Kind::JumpFalseCall || at.kind == Kind::MoveCall) return true;
      }
    }
    return false;
  }

  [[nodiscard]] std::size_t number_of(const tenon_value& value) const noexcept {
    return static_cast<std::size_t>(&value - parts_.values.data());
  }

  /// Whether it is a buffer of the model, which a run may read before it writes it.
  [[nodiscard]] bool is_buffer(const tenon_value& value) const {
    const auto number = static_cast<flatbuffers::uoffset_t>(number_of(value));
    const schema::Tensor* const tensor = parts_.plan.values()->Get(number)->val_as_Tensor();
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

  /// The bytes that the call at the current place uses.
  void look_at(const Instruction& at) {
    use_.clear();
    const std::size_t first = first_flag_[chain_][index_];
    for (std::uint32_t i = 0; i < at.num_args; ++i) use_.add(*at.args[i], is_read_[first + i]);
    use_.finish();
  }

  /// Runs instructions until the end, a failure in `status_`, or, without `may_wait`, one that has
  /// to wait or computes here.
  void walk(bool may_wait) {
    while (status_.ok() && !runs_.has_failed() && chain_ < parts_.chains.size()) {
      if (index_ >= parts_.chains[chain_].size()) {
        ++chain_;
        index_ = 0;
        continue;
      }
      const Instruction& at = parts_.chains[chain_][index_];
      if (left_ == 0) {
        left_ = budget_->next_slice();
        if (left_ == 0) {
          status_ = errors().limit_exceeded(chain_, index_, *budget_);
          return;
        }
      }
      std::size_t next = index_ + 1;
      if (!step(at, may_wait, next)) return;
      --left_;
      index_ = next;
    }
  }

  /// One instruction; false when it has to wait and may not.
  [[nodiscard]] bool step(const Instruction& at, bool may_wait, std::size_t& next) {
    switch (at.kind) {
      case Kind::DelegateCall: {
        EventSource* const source =
            of_delegate_[static_cast<std::size_t>(at.delegate - parts_.delegates.data())];
        look_at(at);
        if (source) return start(at, *source, may_wait);
        return compute(at, may_wait);
      }
      case Kind::KernelCall:
        look_at(at);
        return compute(at, may_wait);
      case Kind::MoveCall:
        parts_.changes.move(*at.from, *at.to);
        return true;
      case Kind::JumpFalseCall:
        return jump(at, may_wait, next);
      default:
        if (at.to->kind != TENON_VALUE_TENSOR) {
          status_ = errors().free(chain_, index_, *at.to);
        } else {
          parts_.changes.free(*at.to->as.tensor);
        }
        return true;
    }
  }

  [[nodiscard]] bool start(const Instruction& at, EventSource& source, bool may_wait) {
    const StartedRuns::Call call{&source,
                                 at.delegate->active->handle,
                                 &at.delegate->use->context,
                                 at.args,
                                 at.num_args,
                                 chain_,
                                 index_};
    if (!runs_.order(call, use_, may_wait)) return false;
    // What was waited for may have failed; then nothing is started on its results.
    if (!runs_.has_failed()) status_ = runs_.start(call, use_);
    parts_.changes.count();
    parts_.temp_arena.reset();
    return true;
  }

  /// A call that is complete when it returns.
  [[nodiscard]] bool compute(const Instruction& at, bool may_wait) {
    if (!may_wait || !runs_.wait_for(use_, true)) return false;
    if (runs_.has_failed()) return true;
    const tenon_status status = parts_.changes.track([&] {
      return at.kind == Kind::DelegateCall
                 ? at.delegate->execute(at.args, at.num_args)
                 : at.kernel->run(at.kernel->self, &parts_.kernel_context, at.args, at.num_args);
    });
    parts_.temp_arena.reset();
    if (status != TENON_STATUS_OK) {
      status_ = errors().call(chain_, index_, at, status, parts_.delegates, parts_.kernel_host);
    }
    return true;
  }

  [[nodiscard]] bool jump(const Instruction& at, bool may_wait, std::size_t& next) {
    use_.clear();
    use_.add(*at.condition, true);
    use_.finish();
    if (!runs_.wait_for(use_, may_wait)) return false;
    if (runs_.has_failed()) return true;
    const std::uint64_t before = condition_bytes_;
    const Condition condition = read_condition(*at.condition, condition_bytes_);
    if (condition == Condition::is_false) {
      next = at.destination;
    } else if (condition == Condition::wrong_kind) {
      status_ = errors().condition(chain_, index_, *at.condition);
    } else if (condition == Condition::too_long) {
      status_ = errors().conditions(chain_, index_, *at.condition, before, parts_.limits);
    }
    return true;
  }

  const Parts parts_;
  std::list<EventSource> sources_;                    // One for each backend that has events.
  std::vector<EventSource*> of_delegate_;             // Null where it has none.
  std::vector<std::vector<std::size_t>> first_flag_;  // Of each instruction, in `is_read_`.
  std::vector<bool> is_read_;                         // One for each argument.

  std::optional<RunBudget> budget_;
  std::uint64_t left_ = 0;
  std::uint64_t condition_bytes_ = 0;
  std::size_t chain_ = 0;
  std::size_t index_ = 0;
  Status status_;
  MemoryUse use_;
  StartedRuns runs_;  // Destroyed before the sources of its events.
};

/// The state that a method needs for `execute_async`, made by its first call.
class MethodAsyncRuns final : public AsyncRuns, private AsyncOwner {
 public:
  explicit MethodAsyncRuns(LoadedMethod& method)
      : method_(method),
        run_(AsyncRun::Parts{method.plan_, method.values_, method.delegates_, method.chains_,
                             method.options_.limits, method.kernel_context_,
                             LoadedMethod::kernel_host(), method.temp_arena_, method.changes_}) {}

  void wait() override { pending_->wait(); }

  [[nodiscard]] static Status start(LoadedMethod& method, Completion completion) {
    if (!method.may_run()) return method.refuse_run();
    if (!method.options_.executor || !completion) {
      return error(Error::InvalidArgument, "method ", method.plan_.name()->string_view(),
                   ": execute_async needs ",
                   completion ? "an executor (MethodOptions::executor)" : "a completion");
    }
    try {
      if (!method.async_runs_) method.async_runs_ = std::make_unique<MethodAsyncRuns>(method);
    } catch (const std::bad_alloc&) {
      return method.errors().no_memory_for_run();
    }
    return static_cast<MethodAsyncRuns&>(*method.async_runs_).start(std::move(completion));
  }

 private:
  [[nodiscard]] Status start(Completion completion) {
    method_.running_.store(true, std::memory_order_relaxed);
    try {
      if (starts_delegates()) run_.begin();
      return pending_->add(*this, method_.options_.executor, std::move(completion));
    } catch (const std::bad_alloc&) {
      return end_run(method_.errors().no_memory_for_run());
    }
  }

  /// The rest of a run, on the executor's thread.
  Status end_run(Status so_far) noexcept override {
    Status outcome;
    try {
      if (starts_delegates()) {
        outcome = shortened(run_.end(std::move(so_far)));
      } else {
        outcome = so_far.ok() ? method_.run_now() : std::move(so_far);
      }
    } catch (const std::bad_alloc&) {
      outcome = method_.errors().no_memory_for_run();
    }
    method_.running_.store(false, std::memory_order_release);
    return outcome;
  }

  /// Whether a run does more than `Method::execute` on another thread.
  [[nodiscard]] bool starts_delegates() const noexcept {
    return run_.has_sources() && !method_.options_.trace;
  }

  LoadedMethod& method_;
  AsyncRun run_;
  const std::shared_ptr<PendingRuns> pending_ = std::make_shared<PendingRuns>();
};

}  // namespace detail

Status Method::execute_async(Completion completion) {
  return detail::MethodAsyncRuns::start(detail::loaded(*this), std::move(completion));
}

}  // namespace tenon::host
