// SPDX-License-Identifier: MIT
//
// Loading and running one method of a program: the entry of this directory. Values, kernels, memory
// and delegates of a method are in the files around it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "tenon/abi/tensor.h"
#include "tenon/core/api.hpp"
#include "tenon/core/args.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/async/executor.hpp"
#include "tenon/host/method/inputs.hpp"
#include "tenon/host/method/options.hpp"
#include "tenon/host/method/session.hpp"
#include "tenon/host/program/program.hpp"
#include "tenon/host/registry/registry.hpp"

namespace tenon::host {

/// One method of a program, loaded and ready to run.
///
/// Values, memory and argument lists are built once by `load`; `execute` then allocates nothing,
/// converts nothing and locks nothing. One method is for one thread at a time; different methods
/// run at the same time, also of one program.
class Method {
 public:
  /// Loads `name` in ExecuTorch's order (Method::init): values, then delegates in their order, then
  /// instructions. On failure the delegates that were initialised are destroyed again.
  ///
  /// Plugins that offer kernels (find_kernel_backends) are asked, and loaded, for an operator that
  /// neither `options.kernels` nor the host itself has a kernel for.
  ///
  /// errors: InvalidArgument (no such method; an option for a backend that is not used),
  ///         NotFound (backend not registered or not available; named data), OperatorMissing (with
  ///         the answers of the plugins that were asked), InvalidExternalData, InvalidProgram (a
  ///         tensor whose planned buffer is on another device), NotFound also for memory planned on
  ///         a device that none of the method's backends serves (find_device_memory: the text has
  ///         the reason of each), AccessFailed (code in the program that `embedded_code` does not
  ///         permit), OutOfResources (planned memory above `options.limits`),
  ///         MemoryAllocationFailed, and whatever a backend's `init` or `create_kernel` fails with.
  [[nodiscard]] static Result<std::unique_ptr<Method>> load(std::shared_ptr<const Program> program,
                                                            std::string_view name,
                                                            MethodOptions options = {});

  Method(const Method&) = delete;
  Method& operator=(const Method&) = delete;

  /// Waits for asynchronous runs and their completions, except a completion that the calling thread
  /// is in. Destroys the kernels of plugins, then the delegates in the order in which they were
  /// initialised, then frees the method's memory on devices.
  virtual ~Method() = default;

  [[nodiscard]] std::string_view name() const noexcept;
  [[nodiscard]] const Program& program() const noexcept;

  [[nodiscard]] std::size_t num_inputs() const noexcept;
  [[nodiscard]] std::size_t num_outputs() const noexcept;

  /// Sets input `index` to a tensor without copying it: the bytes must not change until `execute`
  /// has returned, on a device until its work is done. They are copied, at once, only when the
  /// program keeps a second name for the input's planned memory, through which it may read them,
  /// and when they are on the CPU and the planned memory on a device.
  ///
  /// A shape that is dynamic takes any sizes within its bounds. InvalidArgument for a wrong index,
  /// dtype, number of bytes, alignment or device; NotSupported for sizes that do not fit.
  [[nodiscard]] Status set_input(std::size_t index, const InputTensor& tensor);

  /// Confirms an input that is not a tensor: it must equal the exported value (ExecuTorch:
  /// Method::set_input).
  [[nodiscard]] Status set_input(std::size_t index, const InputScalar& scalar);

  /// Gives output `index`, which is not memory-planned, the bytes to write to, which are on
  /// `device`. They must stay valid while the method may run. InvalidState for a planned output,
  /// InvalidArgument when `bytes` is smaller than the output, misaligned or on another device
  /// (ExecuTorch: Method::set_output_data_ptr).
  [[nodiscard]] Status set_output(std::size_t index, std::span<std::byte> bytes,
                                  tenon_dl_device device = {TENON_DL_CPU, 0});

  /// Copies the bytes of output `index`, a tensor, to `to`, from any device. InvalidArgument when
  /// `to` does not have exactly the output's size, InvalidState without data, NotSupported for a
  /// device that no backend of the method serves; otherwise as the copy fails.
  [[nodiscard]] Status read_output(std::size_t index, std::span<std::byte> to) const;

  /// The value of an output, below `num_outputs()`. Tensor data is valid until the next `execute`;
  /// an output that the method passes on from an input is the caller's own memory. For data on a
  /// device see `read_output`.
  [[nodiscard]] const tenon_value& output(std::size_t index) const noexcept;
  [[nodiscard]] const tenon_value& input(std::size_t index) const noexcept;

  /// Runs the method once. After a failure it may be run again.
  ///
  /// errors: InvalidArgument (an input was not set), InvalidProgram (a condition that is neither
  ///         boolean nor a boolean tensor; more than `limits.instructions`), OutOfResources (more
  ///         than the other limits of a run), and whatever a delegate or kernel fails with, its
  ///         text preceded by the instruction.
  [[nodiscard]] Status execute();

  /// Starts one run and returns; `MethodOptions::executor` runs the rest. Defined in
  /// <tenon/host/async.hpp>, which the caller includes. Delegates of backends
  /// with "tenon.events/1" are started, here as far as nothing has to be waited for: calls that
  /// need no bytes of each other overlap, and one that does is given the event of the other, or
  /// waited for when the backends' events are of different kinds. Everything else, and with a trace
  /// all of it, is executed by the executor's thread.
  ///
  /// Ok: `completion` is called exactly once with what `execute` would have returned, on the
  /// executor's thread or, when the executor calls or destroys the task at once, on this one. The
  /// method then is ready for the next run, which `completion` may start; it may also destroy the
  /// method. It must not throw: an exception is the executor's to handle. A failure: it is never
  /// called, and nothing runs any more.
  ///
  /// From the call to the completion only `output`, `input` and the destructor may be called, and
  /// inputs and outputs keep their bytes; `execute`, `execute_async`, `set_input`, `set_output` and
  /// `set_stream` are refused with InvalidState.
  ///
  /// errors: InvalidArgument (an input was not set; no executor or no completion), InvalidState
  ///         (a run is pending), MemoryAllocationFailed, and what the executor refuses with.
  [[nodiscard]] Status execute_async(Completion completion);

  /// Makes a state of its own for every delegate, like that after `load`. NotSupported when a
  /// backend has no sessions.
  [[nodiscard]] Result<std::unique_ptr<Session>> create_session();

  /// From now on `execute` runs with the state of `session`, which this method made; null means the
  /// method's own again. Costs a pointer for each delegate; not while `execute` runs.
  void use_session(const Session* session) noexcept;

  /// From now on the delegates of `backend_id` run on `stream`, the native handle of a stream of
  /// their device (a `cudaStream_t`), which must stay valid until they have another or the method
  /// is destroyed. `execute` may then return before tensors on the device are complete; they are
  /// when the stream has completed. Copies to the host, by `read_output` or by the program itself,
  /// are always complete on return. Null gives each delegate its own stream back. Holds for the
  /// session that is in use; not while `execute` runs.
  ///
  /// errors: InvalidArgument (no delegate uses that backend), NotSupported (it has no extension
  ///         "tenon.streams/1"; a delegate that cannot), and whatever the backend fails with. All
  ///         delegates then have the streams that they had.
  [[nodiscard]] Status set_stream(std::string_view backend_id, void* stream);

 private:
  friend class detail::LoadedMethod;  // The only class that derives from this one.
  Method() noexcept = default;
};

}  // namespace tenon::host

#if TENON_HOST_DEFINITIONS

#include <algorithm>
#include <atomic>
#include <new>
#include <utility>

#include "tenon/host/files/shortened.hpp"
#include "tenon/host/method/arena.hpp"
#include "tenon/host/method/bind_inputs.hpp"
#include "tenon/host/method/copy_kernels.hpp"
#include "tenon/host/method/device_memory.hpp"
#include "tenon/host/method/devices.hpp"
#include "tenon/host/method/errors.hpp"
#include "tenon/host/method/instructions.hpp"
#include "tenon/host/method/kernel_lookup.hpp"
#include "tenon/host/method/kernels.hpp"
#include "tenon/host/method/loaded_delegate.hpp"
#include "tenon/host/method/planned_buffers.hpp"
#include "tenon/host/method/plugin_kernels.hpp"
#include "tenon/host/method/run_budget.hpp"
#include "tenon/host/method/trace.hpp"
#include "tenon/host/method/values.hpp"
#include "tenon/host/plugin/host_table.hpp"
#include "tenon/host/program/merged_data_map.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon::host {

namespace detail {

/// The asynchronous runs of one method, from its first one on. Only programs that include
/// <tenon/host/async.hpp> compile what is behind it.
class AsyncRuns {
 public:
  /// Waits for all runs and their completions, except those that the calling thread is in.
  virtual void wait() = 0;

  AsyncRuns() = default;
  AsyncRuns(const AsyncRuns&) = delete;
  AsyncRuns& operator=(const AsyncRuns&) = delete;
  virtual ~AsyncRuns() = default;
};

/// The state of a method. `Method` shows it to applications without its types.
class LoadedMethod final : public Method {
 public:
  /// Not built. The object and what its arena hands out first are two allocations and not one: for
  /// a small method each is of a size that the C library keeps lists of (up to 1,032 bytes in
  /// glibc).
  [[nodiscard]] static std::unique_ptr<LoadedMethod> create(
      std::shared_ptr<const Program>&& program, const schema::ExecutionPlan& plan,
      MethodOptions&& options) {
    std::unique_ptr<LoadedMethod> method(
        new LoadedMethod(std::move(program), plan, std::move(options)));
    method->arena_.reserve(room_for(plan));
    return method;
  }

  ~LoadedMethod() override {
    // Not only by destroying it: until then a completion may start the next run.
    if (async_runs_) async_runs_->wait();
    async_runs_.reset();
    plugin_kernels_.clear();
    for (const LoadedDelegate& delegate : delegates_) delegate.destroy();
  }

  [[nodiscard]] const schema::ExecutionPlan& plan() const noexcept { return plan_; }
  [[nodiscard]] const Program& the_program() const noexcept { return *program_; }
  [[nodiscard]] std::size_t count_inputs() const noexcept { return inputs_.size(); }

  /// Errors as those of `Method::load`.
  Status build() {
    if (program_->num_keys() != 0 || !options_.data_files.empty()) {
      TENON_TRY(data_, MergedDataMap::create(program_, options_.data_files));
    }
    std::shared_ptr<const MergedDataMap> external;
    if (!options_.data_files.empty()) {
      TENON_TRY(external, MergedDataMap::create(nullptr, options_.data_files));
    }
    DelegateLoader loader{.program = *program_,
                          .method_name = plan_.name()->c_str(),
                          .registry = options_.registry,
                          .backends = options_.backends,
                          .named_data = data_.get(),
                          .trace = options_.trace,
                          .options = options_.backend_options,
                          .embedded_code = options_.embedded_code,
                          .arena = arena_,
                          .temp_arena = temp_arena_,
                          .changes = changes_.table(),
                          .uses = uses_};
    TENON_RETURN_IF_ERROR(loader.check_options(plan_));
    TENON_RETURN_IF_ERROR(find_devices(plan_, options_.backends, loader, devices_));
    TENON_RETURN_IF_ERROR(
        planned_.allocate(plan_, devices_, options_.limits.planned_bytes, arena_));
    TENON_TRY(values_,
              ValueBuilder(program_->view(), plan_, arena_, planned_, external.get()).build());
    TENON_TRY(inputs_, find_inputs(plan_, values_, devices_, arena_));
    for (const MethodInput& input : inputs_) obstacles_ += input.is_set ? 0 : 1;
    TENON_RETURN_IF_ERROR(load_delegates(loader));
    TENON_TRY(chains_, InstructionBuilder(plan_, values_, delegates_, options_.kernels,
                                          copy_kernels_, plugin_kernels_, loader, arena_)
                           .build());
    kernel_context_ = {sizeof(tenon_execution_context),
                       0,
                       kernel_host(),
                       plan_.name()->c_str(),
                       temp_arena_.table(),
                       options_.trace ? options_.trace->table() : nullptr,
                       changes_.table()};
    return ok();
  }

  template <class Input>
  [[nodiscard]] Status set(std::size_t index, const Input& from) {
    TENON_RETURN_IF_ERROR(check_idle());
    TENON_RETURN_IF_ERROR(check_input(index));
    changes_.count();
    if (Status outcome = inputs_[index].set(from); !outcome.ok()) {
      return std::move(outcome).with_context(
          concat("method ", plan_.name()->string_view(), ": input ", index));
    }
    if (!std::exchange(inputs_[index].is_set, true)) --obstacles_;
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
    if (obstacles_.load(std::memory_order_acquire) != 0) [[unlikely]]
      return refuse_run();
    return run_now();
  }

  /// Fails while an asynchronous run is pending.
  [[nodiscard]] Status check_idle() const {
    if ((obstacles_.load(std::memory_order_acquire) & is_running) == 0) [[likely]]
      return ok();
    return error(Error::InvalidState, "method ", plan_.name()->string_view(),
                 ": a run is pending; it has ended when its completion is called");
  }

  [[nodiscard]] Result<std::unique_ptr<Session>> make_session() {
    return Session::create(delegates_.data(), delegates_.size());
  }

  void use(const Session* session) noexcept {
    if (session) return session->use();
    for (LoadedDelegate& delegate : delegates_) delegate.active = &delegate.own;
  }

  [[nodiscard]] std::span<LoadedDelegate> delegates() noexcept { return delegates_; }

  [[nodiscard]] tenon_value& value(const flatbuffers::Vector<std::int32_t>& indices,
                                   std::size_t index) const noexcept {
    return values_[static_cast<std::size_t>(
        indices.Get(static_cast<flatbuffers::uoffset_t>(index)))];
  }

 private:
  friend class MethodAsyncRuns;
  using Kind = schema::InstructionArguments;

  LoadedMethod(std::shared_ptr<const Program>&& program, const schema::ExecutionPlan& plan,
               MethodOptions&& options)
      : program_(std::move(program)), plan_(plan), options_(std::move(options)) {}

  /// About what `build` takes from the arena for a plan, by the lengths of its lists: a tensor of
  /// three dimensions for each value, an instruction of three arguments, the name of one backend.
  /// The arena grows for what has more.
  static std::size_t room_for(const schema::ExecutionPlan& plan) noexcept {
    constexpr std::size_t most = std::size_t{1} << 20;  // Lists of an unusual length grow.
    constexpr std::size_t each_value = sizeof(tenon_value) + sizeof(tenon_tensor) +
                                       3 * 2 * sizeof(std::int64_t) + sizeof(const void*);
    constexpr std::size_t each_instruction = sizeof(Instruction) + 3 * sizeof(tenon_value*);
    const auto& delegates = *plan.delegates();
    const std::size_t name = delegates.size() == 0 ? 0 : delegates.Get(0)->id()->size();
    std::size_t bytes = PlannedBuffers::room(plan) + plan.values()->size() * each_value +
                        plan.inputs()->size() * sizeof(MethodInput) + sizeof(BackendUse) +
                        alignof(BackendUse) + name + delegates.size() * sizeof(LoadedDelegate);
    for (const auto* chain : *plan.chains()) {
      bytes += sizeof(Chain) + chain->instructions()->size() * each_instruction;
    }
    return std::min(bytes, most);
  }

  static constexpr std::size_t is_running = ~(~std::size_t{0} >> 1);

  /// Services that kernels get: they resize outputs and leave error texts like a backend.
  static const tenon_host* kernel_host() {
    static const HostTable table({}, "");
    return table.get();
  }

  Status load_delegates(DelegateLoader& loader) {
    const auto& serialized = *plan_.delegates();
    auto* delegates = arena_.allocate_list<LoadedDelegate>(serialized.size());
    if (!delegates) return error(Error::MemoryAllocationFailed, "no memory for the delegates");
    const PluginKernelLookup kernels(options_.backends, options_.registry, loader.method_name,
                                     options_.trace ? options_.trace->table() : nullptr);
    for (flatbuffers::uoffset_t i = 0; i < serialized.size(); ++i) {
      const schema::BackendDelegate& from = *serialized.Get(i);
      new (&delegates[i]) LoadedDelegate();
      const std::uint64_t start = options_.trace ? options_.trace->now_ns() : 0;
      if (Status loaded = loader.load(from, delegates[i]); !loaded.ok()) {
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
    return ok();
  }

  [[nodiscard]] Status run_now() {
    Status outcome = options_.trace ? run_traced() : run_chains<false>();
    return shortened(std::move(outcome));
  }

  template <bool Traced>
  Status run_chains() {
    RunBudget budget(options_.limits);
    std::uint64_t left = budget.next_slice();
    std::uint64_t condition_bytes = options_.limits.condition_bytes;
    for (std::size_t c = 0; c < chains_.size(); ++c) {
      const Chain chain = chains_[c];
      for (std::size_t i = 0; i < chain.size();) {
        if (left-- == 0) [[unlikely]] {
          left = budget.next_slice();
          if (left-- == 0) return errors().over(c, i, budget);
        }
        const Instruction& at = chain[i];
        std::size_t next = i + 1;
        tenon_status status = TENON_STATUS_OK;
        [[maybe_unused]] const std::uint64_t start = Traced ? options_.trace->now_ns() : 0;
        switch (at.kind) {
          case Kind::DelegateCall: {
            const auto run = [&] { return at.delegate->execute(at.args, at.num_args); };
            status = at.may_change ? changes_.follow(run) : run();
            break;
          }
          case Kind::KernelCall:
            status = changes_.follow([&] {
              return at.kernel->run(at.kernel->self, &kernel_context_, at.args, at.num_args);
            });
            break;
          case Kind::MoveCall:
            changes_.move(*at.from, *at.to);
            break;
          case Kind::JumpFalseCall: {
            const std::uint64_t before = condition_bytes;
            const Condition condition = read_condition(*at.condition, condition_bytes);
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
        if constexpr (Traced) {
          trace_instruction(*options_.trace, errors(), at, c, i, start);
        }
        temp_arena_.reset();
        if (status != TENON_STATUS_OK) [[unlikely]]
          return errors().call(c, i, at, status, delegates_, kernel_host());
        i = next;
      }
    }
    return ok();
  }

  [[gnu::cold]] Status run_traced() {
    const std::uint64_t start = options_.trace->now_ns();
    Status outcome = run_chains<true>();
    options_.trace->add("execute", "method", start, options_.trace->now_ns(),
                        {{"method", plan_.name()->string_view()}});
    return outcome;
  }

  [[nodiscard]] MethodErrors errors() const noexcept { return {plan_}; }

  [[nodiscard]] Status refuse_run() const {
    TENON_RETURN_IF_ERROR(check_idle());
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!inputs_[i].is_set) {
        return error(Error::InvalidArgument, "method ", plan_.name()->string_view(), ": input ", i,
                     " was not set");
      }
    }
    return error(Error::Internal, "method ", plan_.name()->string_view(),
                 ": inputs were counted wrongly");
  }

  [[nodiscard]] Status check_input(std::size_t index) const {
    if (index < inputs_.size()) return ok();
    return error(Error::InvalidArgument, "method ", plan_.name()->string_view(), ": input ", index,
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
  MethodOptions options_;
  std::shared_ptr<const MergedDataMap> data_;
  Arena arena_;
  BackendUses uses_{arena_};
  DeviceMemories devices_;
  CopyKernels copy_kernels_{devices_};
  PlannedBuffers planned_;
  Arena temp_arena_;
  Changes changes_;
  std::span<tenon_value> values_;
  std::span<MethodInput> inputs_;
  /// Why a run cannot begin: the number of inputs that are not set, or `is_running`.
  std::atomic<std::size_t> obstacles_ = 0;
  std::span<LoadedDelegate> delegates_;
  PluginKernels plugin_kernels_;
  std::span<const Chain> chains_;
  tenon_execution_context kernel_context_{};
  std::unique_ptr<AsyncRuns> async_runs_;
};

[[nodiscard]] inline LoadedMethod& loaded(Method& method) noexcept {
  return static_cast<LoadedMethod&>(method);
}
[[nodiscard]] inline const LoadedMethod& loaded(const Method& method) noexcept {
  return static_cast<const LoadedMethod&>(method);
}

}  // namespace detail

TENON_API Result<std::unique_ptr<Method>> Method::load(std::shared_ptr<const Program> program,
                                                       std::string_view name,
                                                       MethodOptions options) {
  try {
    TENON_TRY(const schema::ExecutionPlan* plan, program->plan(name));
    auto method = detail::LoadedMethod::create(std::move(program), *plan, std::move(options));
    if (Status built = method->build(); !built.ok()) {
      return shortened(
          std::move(built).with_context(concat(method->the_program().name(), ": method ", name)));
    }
    return std::unique_ptr<Method>(std::move(method));
  } catch (const std::bad_alloc&) {
    return error(Error::MemoryAllocationFailed, "method ", name, ": out of memory");
  }
}

TENON_API std::string_view Method::name() const noexcept {
  return detail::loaded(*this).plan().name()->string_view();
}

TENON_API const Program& Method::program() const noexcept {
  return detail::loaded(*this).the_program();
}

TENON_API std::size_t Method::num_inputs() const noexcept {
  return detail::loaded(*this).count_inputs();
}

TENON_API std::size_t Method::num_outputs() const noexcept {
  return detail::loaded(*this).plan().outputs()->size();
}

TENON_API Status Method::set_input(std::size_t index, const InputTensor& tensor) {
  return detail::loaded(*this).set(index, tensor);
}

TENON_API Status Method::set_input(std::size_t index, const InputScalar& scalar) {
  return detail::loaded(*this).set(index, scalar);
}

TENON_API Status Method::set_output(std::size_t index, std::span<std::byte> bytes,
                                    tenon_dl_device device) {
  return detail::loaded(*this).set_bytes(index, bytes, device);
}

TENON_API Status Method::read_output(std::size_t index, std::span<std::byte> to) const {
  return detail::loaded(*this).read(index, to);
}

TENON_API const tenon_value& Method::output(std::size_t index) const noexcept {
  const detail::LoadedMethod& self = detail::loaded(*this);
  return self.value(*self.plan().outputs(), index);
}

TENON_API const tenon_value& Method::input(std::size_t index) const noexcept {
  const detail::LoadedMethod& self = detail::loaded(*this);
  return self.value(*self.plan().inputs(), index);
}

TENON_API Status Method::execute() { return detail::loaded(*this).run(); }

TENON_API Result<std::unique_ptr<Session>> Method::create_session() {
  return detail::loaded(*this).make_session();
}

TENON_API void Method::use_session(const Session* session) noexcept {
  detail::loaded(*this).use(session);
}

TENON_API Status Method::set_stream(std::string_view backend_id, void* stream) {
  TENON_RETURN_IF_ERROR(detail::loaded(*this).check_idle());
  return detail::set_stream(detail::loaded(*this).delegates(), backend_id, stream);
}

}  // namespace tenon::host

#endif  // TENON_HOST_DEFINITIONS
