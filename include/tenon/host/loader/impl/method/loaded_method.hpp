// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <new>
#include <system_error>
#include <utility>

#include "tenon/host/layers/async/impl/async_runs.hpp"
#include "tenon/host/layers/budget/impl/method_budget.hpp"
#include "tenon/host/layers/budget/impl/method_memory.hpp"
#include "tenon/host/layers/budget/impl/planned_bytes.hpp"
#include "tenon/host/layers/cancel/impl/run_control.hpp"
#include "tenon/host/layers/data/merged_data_map.hpp"
#include "tenon/host/layers/devices/device_memory.hpp"
#include "tenon/host/layers/devices/impl/copy_kernels.hpp"
#include "tenon/host/layers/devices/impl/method_devices.hpp"
#include "tenon/host/layers/devices/impl/shared_devices.hpp"
#include "tenon/host/layers/kernels/impl/kernel_lookup.hpp"
#include "tenon/host/layers/kernels/impl/plugin_kernels.hpp"
#include "tenon/host/layers/scheduling/thread_pool.hpp"
#include "tenon/host/layers/state/impl/loaded_session.hpp"
#include "tenon/host/layers/trace/impl/method_recorder.hpp"
#include "tenon/host/layers/trace/trace.hpp"
#include "tenon/host/loader/files/shortened.hpp"
#include "tenon/host/loader/impl/method/allocate_planned.hpp"
#include "tenon/host/loader/impl/method/arena.hpp"
#include "tenon/host/loader/impl/method/bind_inputs.hpp"
#include "tenon/host/loader/impl/method/errors.hpp"
#include "tenon/host/loader/impl/method/instructions.hpp"
#include "tenon/host/loader/impl/method/kernel_host.hpp"
#include "tenon/host/loader/impl/method/loaded_delegate.hpp"
#include "tenon/host/loader/impl/method/planned_buffers.hpp"
#include "tenon/host/loader/impl/method/run_budget.hpp"
#include "tenon/host/loader/impl/method/values.hpp"
#include "tenon/host/loader/method/kernels.hpp"
#include "tenon/host/loader/method/method.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The state of a method. `Method` shows it to applications without its types.
class LoadedMethod final : public Method {
 public:
  /// Not built. The object and what its arena hands out first are two allocations and not one: for
  /// a small method each is of a size that the C library keeps lists of (up to 1,032 bytes in
  /// glibc).
  [[nodiscard]] static std::unique_ptr<LoadedMethod> create(
      std::shared_ptr<const Program>&& program, const schema::ExecutionPlan& plan,
      const ProgramVariant* variant, MethodOptions&& options) {
    std::unique_ptr<LoadedMethod> method(
        new LoadedMethod(std::move(program), plan, std::move(options)));
    method->variant_ = variant;
    // With a budget not before it was checked.
    if (method->options_.budget.empty()) method->arena_.reserve(estimated_arena_bytes(plan));
    return method;
  }

  ~LoadedMethod() override {
    // Not only by destroying it: until then a completion may start the next run.
    wait_for_runs();
    async_runs_.reset();
    plugin_kernels_.clear();
    for (const LoadedDelegate& delegate : delegates_) delegate.destroy();
  }

  [[nodiscard]] const schema::ExecutionPlan& plan() const noexcept { return plan_; }
  [[nodiscard]] const ProgramVariant* chosen_variant() const noexcept { return variant_; }
  /// The method's, which a plan of a variant does not have. With a NUL behind it.
  [[nodiscard]] std::string_view public_name() const noexcept {
    return variant_ ? variant_->method : plan_.name()->string_view();
  }
  /// The named data of the program and of the data files; null when there is none.
  [[nodiscard]] const tenon_named_data_map* named_data() const noexcept {
    return data_ ? data_->abi() : program_->named_data();
  }
  [[nodiscard]] const Program& the_program() const noexcept { return *program_; }
  [[nodiscard]] std::size_t count_inputs() const noexcept { return inputs_.size(); }

  /// Errors as those of `Method::load`.
  Status build() {
    std::shared_ptr<const MergedDataMap> external;
    if (!options_.data_files.empty()) {
      TENON_TRY(data_, MergedDataMap::create(program_, options_.data_files));
      TENON_TRY(external, MergedDataMap::create(nullptr, options_.data_files));
    }
    if (options_.cancellable) {
      TENON_TRY(control_, make_control());
    }
    find_plain();
    const tenon_scheduling scheduling = tenon::detail::to_abi(options_.scheduling);
    DelegateLoader loader{.program = *program_,
                          .method_name = public_name().data(),
                          .registry = options_.registry,
                          .backends = options_.backends,
                          .named_data = named_data(),
                          .trace = options_.trace,
                          .options = options_.backend_options,
                          .embedded_code = options_.embedded_code,
                          .arena = arena_,
                          .lent = &arena_,
                          .temp_arena = temp_arena_,
                          .changes = changes_.table(),
                          .cancel_flag = control_ ? control_->flag() : nullptr,
                          .threads = threads(),
                          .scheduling = options_.scheduling == Scheduling() ? nullptr : &scheduling,
                          .prepared = options_.prepared,
                          .uses = uses_};
    TENON_RETURN_IF_ERROR(check_used(options_.backend_options));
    if (!options_.budget.empty()) TENON_RETURN_IF_ERROR(take_budget(loader));
    TENON_RETURN_IF_ERROR(find_devices(plan_, options_.backends, loader, devices_));
    TENON_RETURN_IF_ERROR(allocate_planned(plan_, loader, devices_, options_.limits.planned_bytes,
                                           budget_.get(), planned_));
    TENON_TRY(values_,
              ValueBuilder(program_->view(), plan_, arena_, planned_, external.get()).build());
    TENON_TRY(inputs_, find_inputs(plan_, values_, devices_, arena_));
    for (const MethodInput& input : inputs_) unset_inputs_ += input.is_set ? 0 : 1;
    TENON_RETURN_IF_ERROR(load_delegates(loader));
    TENON_TRY(chains_, InstructionBuilder(plan_, values_, delegates_, options_.kernels,
                                          copy_kernels_, plugin_kernels_, loader, arena_)
                           .build());
    TENON_RETURN_IF_ERROR(SharedDevices(devices_).check(chains_));
    const tenon_tracer* const tracer = options_.trace ? options_.trace->table() : nullptr;
    kernel_context_ = {kernel_host(),    loader.method_name, temp_arena_.table(), tracer,
                       changes_.table(), loader.cancel_flag, loader.threads};
    return ok();
  }

  /// `build`, or why its budget did not suffice.
  Status build_in_budget() {
    Status built = build();
    return budget_ ? budget_->explain(std::move(built)) : std::move(built);
  }

  [[nodiscard]] Result<MethodMemory> memory() const {
    MethodMemory out;
    out.planned = planned_bytes(plan_);
    out.temp = temp_arena_.nbytes();
    TENON_RETURN_IF_ERROR(add_delegates(delegates_, out));
    std::uint64_t lent = 0;  // Of the method's arena.
    for (const DelegateMemory& each : out.delegates) lent += budget_ ? 0 : each.lent;
    const std::uint64_t in_arena = PlannedBuffers::bytes_in_arena(plan_).first;
    out.tables = arena_.nbytes() - std::min(arena_.nbytes(), lent + in_arena) + planned_.padding();
    return out;
  }

  template <class Input>
  [[nodiscard]] Status set(std::size_t index, const Input& from) {
    TENON_RETURN_IF_ERROR(check_idle());
    TENON_RETURN_IF_ERROR(check_input(index));
    changes_.count();
    if (Status outcome = inputs_[index].set(from); !outcome.ok()) {
      return std::move(outcome).with_context(concat("method ", public_name(), ": input ", index));
    }
    if (!std::exchange(inputs_[index].is_set, true)) --unset_inputs_;
    return ok();
  }

  [[nodiscard]] Status set_bytes(std::size_t index, std::span<std::byte> bytes,
                                 tenon_dl_device device) {
    TENON_RETURN_IF_ERROR(check_idle());
    TENON_RETURN_IF_ERROR(check_output(index));
    changes_.count();
    return set_output_bytes(value(*plan_.outputs(), index), bytes, device)
        .with_context(concat("output ", index));
  }

  [[nodiscard]] Status read(std::size_t index, std::span<std::byte> to) const {
    TENON_RETURN_IF_ERROR(check_output(index));
    Status outcome = read_bytes(value(*plan_.outputs(), index), devices_, to);
    return outcome.ok() ? ok() : std::move(outcome).with_context(concat("output ", index));
  }

  [[nodiscard]] Status run() {
    if (!may_run()) [[unlikely]]
      return refuse_run();
    return run_now();
  }

  [[nodiscard]] Status cancel_run() {
    if (!control_) {
      return error(Error::InvalidState, "method ", public_name(),
                   ": it was loaded without MethodOptions::cancellable, so no run of it can be "
                   "cancelled");
    }
    control_->cancel();
    return ok();
  }

  /// Waits for asynchronous runs and their completions, except those that the calling thread is in.
  void wait_for_runs() {
    if (async_runs_) async_runs_->wait();
  }

  /// Fails while an asynchronous run is pending.
  [[nodiscard]] Status check_idle() const {
    if (!running_.load(std::memory_order_acquire)) [[likely]]
      return ok();
    return run_is_pending();
  }

  [[nodiscard]] Result<std::unique_ptr<Session>> make_session(const SessionOptions& options) {
    TENON_RETURN_IF_ERROR(check_used(options.backend_options));
    return LoadedSession::create(delegates_, options, budget_.get());
  }

  void use(const Session* session) noexcept {
    if (session) return loaded(*session).use();
    for (LoadedDelegate& delegate : delegates_) delegate.active = &delegate.own;
  }

  /// The recorder, which the first call makes.
  [[nodiscard]] Result<MethodRecorder*> recorder() {
    TENON_RETURN_IF_ERROR(check_idle());
    if (recorder_) return recorder_.get();
    DebugHandles handles;
    const std::string key = concat(debug_handles_key, plan_.name()->string_view());
    tenon_buffer found{};
    found.struct_size = sizeof found;
    const tenon_named_data_map* const data = named_data();
    if (data && data->get_data(data, key.data(), key.size(), &found) == TENON_STATUS_OK) {
      TENON_TRY(handles, DebugHandles::read({static_cast<const char*>(found.data),
                                             static_cast<std::size_t>(found.nbytes)}));
    }
    auto made =
        std::make_unique<MethodRecorder>(plan_, chains_, delegates_, devices_, options_.limits);
    TENON_RETURN_IF_ERROR(made->find(handles));
    recorder_ = std::move(made);
    return recorder_.get();
  }
  [[nodiscard]] Status record(std::span<const std::size_t> numbers) {
    TENON_TRY(MethodRecorder* const of, recorder());
    Status asked = of->ask(numbers);
    find_plain();
    return asked;
  }
  [[nodiscard]] bool is_recording() const noexcept {
    return recorder_ && recorder_->is_recording();
  }
  [[nodiscard]] std::span<const IntermediateTensor> recorded() const noexcept {
    return recorder_ ? recorder_->recorded() : std::span<const IntermediateTensor>();
  }

  [[nodiscard]] std::span<LoadedDelegate> delegates() noexcept { return delegates_; }

  [[nodiscard]] tenon_value& value(const flatbuffers::Vector<std::int32_t>& indices,
                                   std::size_t index) const noexcept {
    return values_[static_cast<std::size_t>(
        indices.Get(static_cast<flatbuffers::uoffset_t>(index)))];
  }

 private:
  friend class AsyncRun;
  friend class MethodAsyncRuns;
  friend class StateMemory;
  using Kind = schema::InstructionArguments;

  LoadedMethod(std::shared_ptr<const Program>&& program, const schema::ExecutionPlan& plan,
               MethodOptions&& options)
      : program_(std::move(program)), plan_(plan), options_(std::move(options)) {}

  Status load_delegates(DelegateLoader& loader) {
    const auto& serialized = *plan_.delegates();
    auto* delegates = arena_.allocate_list<LoadedDelegate>(serialized.size());
    if (!delegates) return error(Error::MemoryAllocationFailed, "no memory for the delegates");
    PluginKernelLookup kernels(options_.backends, options_.registry, loader.method_name,
                               options_.trace ? options_.trace->table() : nullptr, loader.threads,
                               loader.cancel_flag);
    for (flatbuffers::uoffset_t i = 0; i < serialized.size(); ++i) {
      const schema::BackendDelegate& from = *serialized.Get(i);
      new (&delegates[i]) LoadedDelegate();
      const std::uint64_t start = options_.trace ? options_.trace->now_ns() : 0;
      if (budget_) budget_->begin_delegate(i);
      if (Status loaded = loader.load(from, kernels, delegates[i]); !loaded.ok()) {
        if (options_.failed_delegate) *options_.failed_delegate = i;
        return std::move(loaded).with_context(
            concat("delegate ", i, " (", from.id()->string_view(), ")"));
      }
      delegates_ = {delegates, i + 1};
      if (options_.num_loaded_delegates) *options_.num_loaded_delegates = i + 1;
      if (options_.trace) {
        options_.trace->add("init", "delegate", start, options_.trace->now_ns(),
                            {{"backend", from.id()->string_view()}, {"delegate", concat(i)}});
      }
    }
    if (budget_) budget_->end_delegate();
    return ok();
  }

  /// Takes what the method will need from its budget, or refuses it: before memory is allocated and
  /// before `init` of the first delegate.
  [[gnu::cold]] Status take_budget(DelegateLoader& loader) {
    TENON_TRY(budget_, MethodBudget::create(options_.budget));
    TENON_RETURN_IF_ERROR(budget_->take_host(estimate_host(plan_)));
    const auto [in_arena, aligning] = PlannedBuffers::bytes_in_arena(plan_);
    arena_.reserve(static_cast<std::size_t>(budget_->estimate().tables - aligning + in_arena));
    arena_.set_meter(budget_->cpu());
    temp_arena_.set_meter(budget_->cpu());
    loader.lent = &budget_->lent();
    std::vector<DelegateEstimate> delegates;
    for (flatbuffers::uoffset_t i = 0; i < plan_.delegates()->size(); ++i) {
      const schema::BackendDelegate& delegate = *plan_.delegates()->Get(i);
      const std::string_view id = delegate.id()->string_view();
      TENON_TRY(const BackendUse* use, loader.use_backend(id));
      auto estimate = estimate_delegate(*use->backend, *program_, loader.method_name, delegate,
                                        loader.named_data, use->runtime_specs);
      if (!estimate.ok()) {
        if (options_.failed_delegate) *options_.failed_delegate = i;
        return std::move(estimate).status().with_context(concat("delegate ", i, " (", id, ")"));
      }
      delegates.push_back(*std::move(estimate));
    }
    return budget_->take_delegates(std::move(delegates));
  }

  [[nodiscard]] Result<std::unique_ptr<RunControl>> make_control() {
    try {
      return std::make_unique<RunControl>(options_.limits.run_milliseconds, [this] {
        for (const LoadedDelegate& delegate : delegates_) delegate.cancel();
        if (AsyncRuns* const runs = hurried_runs_.load(std::memory_order_acquire)) runs->hurry();
      });
    } catch (const std::system_error& failure) {
      return error(Error::OutOfResources,
                   "no thread for the limit run_milliseconds: ", failure.what());
    }
  }

  /// Around each run that can be cancelled or has a budget, also an asynchronous one. False: the
  /// method can be cancelled, and another run of it is going on.
  [[nodiscard]] bool begin_run() { return !control_ || control_->begin(); }
  [[nodiscard]] Status end_run(Status outcome) {
    if (budget_) outcome = budget_->explain(std::move(outcome));
    if (!control_) return outcome;
    const bool is_late = control_->end();
    if (outcome.error() != Error::Cancelled || !is_late) return outcome;
    return errors().late(outcome, options_.limits);
  }

  /// Around each asynchronous run. False: another run is pending or going on.
  [[nodiscard]] bool begin_async_run() {
    if (running_.exchange(true, std::memory_order_acquire)) return false;
    if (begin_run()) return true;
    running_.store(false, std::memory_order_release);
    return false;
  }
  [[nodiscard]] Status end_async_run(Status outcome) {
    outcome = end_run(std::move(outcome));
    running_.store(false, std::memory_order_release);
    return outcome;
  }

  /// Runs all instructions; `has_begun` in an asynchronous run.
  [[nodiscard]] Status run_now(bool has_begun = false) {
    Status outcome = is_plain_ ? run_all<CompleteCalls>() : run_observed(has_begun);
    return shortened(std::move(outcome));
  }

  void find_plain() noexcept {
    is_plain_ = !options_.trace && !control_ && !is_recording() && options_.budget.empty() &&
                options_.limits.run_milliseconds == HostLimits::none;
  }

  /// A run that is traced or recorded, has a limit in time or a budget, or can be cancelled.
  [[gnu::cold]] Status run_observed(bool has_begun) {
    const auto run = [this] {
      if (is_recording()) return run_recorded();
      return options_.trace ? run_traced() : run_all<ObservedCalls>();
    };
    if (has_begun) return run();
    if (!begin_run()) return run_is_pending();
    return end_run(run());
  }

  /// Once for each way to call, so that each is in one place: a compiler then has no call for it.
  template <class Calls>
  Status run_all() {
    RunBudget budget = Calls::budget(*this);
    RunPosition position{0, 0, budget.next_slice()};
    Calls calls{{*this}};
    return interpret(budget, position, calls);
  }

  [[gnu::cold]] Status run_recorded() {
    recorder_->begin_run();
    return recorder_->end_run(options_.trace ? run_traced() : run_all<TracedCalls>());
  }

  [[gnu::cold]] Status run_traced() {
    const std::uint64_t start = options_.trace->now_ns();
    Status outcome = run_all<TracedCalls>();
    const std::uint64_t end = options_.trace->now_ns();
    options_.trace->add("execute", "method", start, end, {{"method", public_name()}});
    return outcome;
  }

  /// The calls of `execute`: complete when they return. Inlined at once: otherwise gcc 12 spends
  /// two moves more on each call of a delegate.
  struct CompleteCalls {
    LoadedMethod& method;

    [[nodiscard]] static RunBudget budget(const LoadedMethod& of) noexcept {
      return RunBudget(of.options_.limits);
    }
    [[nodiscard]] static std::uint64_t begin_instruction() noexcept { return 0; }
    [[nodiscard]] static bool has_stopped() noexcept { return false; }
    [[gnu::always_inline]] tenon_status delegate(const Instruction& at, std::size_t, std::size_t) {
      const auto run = [&] { return at.delegate->execute(at.args, at.num_args); };
      return at.may_change ? method.changes_.track(run) : run();
    }
    [[gnu::always_inline]] tenon_status kernel(const Instruction& at, std::size_t, std::size_t) {
      return method.run_kernel(at);
    }
    static void condition(const tenon_value&) noexcept {}
    static void end_instruction(const Instruction&, std::size_t, std::size_t,
                                std::uint64_t) noexcept {}
  };

  /// The same in runs that have a limit in time or can be cancelled.
  struct ObservedCalls : CompleteCalls {
    [[nodiscard]] static RunBudget budget(const LoadedMethod& of) noexcept {
      return RunBudget(of.options_.limits, of.control_.get());
    }
  };

  /// The same with events, and results of kernels, that are recorded.
  struct TracedCalls : ObservedCalls {
    [[nodiscard]] std::uint64_t begin_instruction() const {
      return method.options_.trace ? method.options_.trace->now_ns() : 0;
    }
    tenon_status kernel(const Instruction& at, std::size_t, std::size_t) {
      const tenon_status status = method.run_kernel(at);
      if (status != TENON_STATUS_OK || !method.is_recording()) return status;
      return method.recorder_->take_kernel(at);
    }
    void end_instruction(const Instruction& at, std::size_t chain, std::size_t index,
                         std::uint64_t start) {
      if (!method.options_.trace) return;
      trace_instruction(*method.options_.trace, method.errors(), at, chain, index, start);
    }
  };

  [[gnu::always_inline]] tenon_status run_kernel(const Instruction& at) {
    return changes_.track(
        [&] { return at.kernel->run(at.kernel->self, &kernel_context_, at.args, at.num_args); });
  }

  /// Runs instructions from `position` on: to the end, to a failure, or to one that `calls` stops
  /// before, as it has to wait; `position` is then there.
  ///
  /// `calls` is how a run waits. Its `delegate` and `kernel` make a call and return its status, and
  /// `condition` waits for a value that is read; after each of them `has_stopped` says whether it
  /// stops. `begin_instruction` and `end_instruction` are around each instruction.
  template <class Calls>
  [[gnu::always_inline]] Status interpret(RunBudget& budget, RunPosition& position, Calls& calls) {
    std::uint64_t left = position.left;
    std::size_t i = position.index;
    for (std::size_t c = position.chain; c < chains_.size(); ++c, i = 0) {
      const Chain chain = chains_[c];
      const auto stop = [&] {
        position = {c, i, left + 1};
        return ok();
      };
      while (i < chain.size()) {
        if (left-- == 0) [[unlikely]] {
          left = budget.next_slice();
          if (left-- == 0) return errors().limit_exceeded(c, i, budget);
        }
        const Instruction& at = chain[i];
        std::size_t next = i + 1;
        tenon_status status = TENON_STATUS_OK;
        [[maybe_unused]] const std::uint64_t start = calls.begin_instruction();
        switch (at.kind) {
          case Kind::DelegateCall:
            status = calls.delegate(at, c, i);
            if (calls.has_stopped()) return stop();
            break;
          case Kind::KernelCall:
            status = calls.kernel(at, c, i);
            if (calls.has_stopped()) return stop();
            break;
          case Kind::MoveCall:
            changes_.move(*at.from, *at.to);
            break;
          case Kind::JumpFalseCall: {
            calls.condition(*at.condition);
            if (calls.has_stopped()) return stop();
            const std::uint64_t before = budget.condition_bytes;
            const Condition condition = read_condition(*at.condition, budget.condition_bytes);
            if (condition == Condition::is_false) {
              next = at.destination;
            } else if (condition == Condition::wrong_kind) {
              return errors().condition(c, i, *at.condition);
            } else if (condition == Condition::too_long) {
              return errors().conditions(c, i, *at.condition, before, options_.limits);
            }
            break;
          }
          default:
            if (at.to->kind != TENON_VALUE_TENSOR) [[unlikely]]
              return errors().free(c, i, *at.to);
            changes_.free(*at.to->as.tensor);
            break;
        }
        calls.end_instruction(at, c, i, start);
        temp_arena_.reset();
        if (status != TENON_STATUS_OK) [[unlikely]]
          return errors().call(c, i, at, status, delegates_, kernel_host());
        i = next;
      }
    }
    position = {chains_.size(), 0, left};
    return ok();
  }

  [[nodiscard]] Status check_used(std::span<const BackendOption> options) const {
    return check_backends_used(options, *program_, plan_, public_name());
  }

  [[nodiscard]] const tenon_thread_pool* threads() const noexcept {
    return options_.threads ? options_.threads->table() : nullptr;
  }
  [[nodiscard]] MethodErrors errors() const noexcept { return {plan_}; }

  /// Whether all inputs are set and no asynchronous run is pending.
  [[nodiscard]] bool may_run() const noexcept {
    return !running_.load(std::memory_order_acquire) && unset_inputs_ == 0;
  }

  /// The failure of a run while `may_run` is false.
  [[nodiscard]] Status refuse_run() const {
    TENON_RETURN_IF_ERROR(check_idle());
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].is_set) continue;
      return error(Error::InvalidArgument, "method ", public_name(), ": input ", i, " was not set");
    }
    return run_is_pending();  // It ended since.
  }

  [[nodiscard, gnu::cold]] Status run_is_pending() const {
    return error(Error::InvalidState, "method ", public_name(),
                 ": a run is pending; it has ended when its completion is called");
  }

  [[nodiscard]] Status check_input(std::size_t index) const {
    if (index < inputs_.size()) return ok();
    return error(Error::InvalidArgument, "method ", public_name(), ": input ", index,
                 ": the method has ", inputs_.size());
  }
  [[nodiscard]] Status check_output(std::size_t index) const {
    if (index < plan_.outputs()->size()) return ok();
    return error(Error::InvalidArgument, "output ", index, ": the method has ",
                 plan_.outputs()->size());
  }

  // Members are destroyed in reverse order: backends (and with them plugins) after planned memory
  // and before the arena, which has what names them; the program last.
  std::shared_ptr<const Program> program_;
  const schema::ExecutionPlan& plan_;
  const ProgramVariant* variant_ = nullptr;  ///< Null when the method has a single form.
  MethodOptions options_;
  std::shared_ptr<const MergedDataMap> data_;  ///< Null without data files.
  std::unique_ptr<MethodBudget> budget_;       ///< Null without one. The arenas count in it.
  Arena arena_;
  BackendUses uses_{arena_};
  DeviceMemories devices_;
  CopyKernels copy_kernels_{devices_};
  PlannedBuffers planned_;
  Arena temp_arena_;
  Changes changes_;
  std::span<tenon_value> values_;
  std::span<MethodInput> inputs_;
  std::size_t unset_inputs_ = 0;
  std::atomic<bool> running_ = false;  ///< An asynchronous run is pending.
  std::span<LoadedDelegate> delegates_;
  PluginKernels plugin_kernels_;
  std::span<const Chain> chains_;
  HostExecutionContext kernel_context_;
  std::unique_ptr<RunControl> control_;  ///< Null when runs cannot be cancelled.
  bool is_plain_ = true;  ///< Runs are not observed: no trace, record, budget, limit, cancelling.
  std::unique_ptr<MethodRecorder> recorder_;  ///< Null until intermediates are asked for.
  std::unique_ptr<AsyncRuns> async_runs_;
  std::atomic<AsyncRuns*> hurried_runs_ = nullptr;  ///< The same, for a thread that cancels.
};

[[nodiscard]] inline LoadedMethod& loaded(Method& method) noexcept {
  return static_cast<LoadedMethod&>(method);
}
[[nodiscard]] inline const LoadedMethod& loaded(const Method& method) noexcept {
  return static_cast<const LoadedMethod&>(method);
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
