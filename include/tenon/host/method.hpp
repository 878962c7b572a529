// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/core/args.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/arena.hpp"
#include "tenon/host/copy_kernels.hpp"
#include "tenon/host/device_memory.hpp"
#include "tenon/host/host_table.hpp"
#include "tenon/host/instructions.hpp"
#include "tenon/host/kernels.hpp"
#include "tenon/host/loaded_delegate.hpp"
#include "tenon/host/method_devices.hpp"
#include "tenon/host/method_errors.hpp"
#include "tenon/host/method_inputs.hpp"
#include "tenon/host/method_meta.hpp"
#include "tenon/host/method_options.hpp"
#include "tenon/host/method_trace.hpp"
#include "tenon/host/method_values.hpp"
#include "tenon/host/planned_memory.hpp"
#include "tenon/host/plugin_kernels.hpp"
#include "tenon/host/program.hpp"
#include "tenon/host/session.hpp"
#include "tenon/host/trace.hpp"

namespace tenon::host {

/// One method of a program, loaded and ready to run.
///
/// Values, memory and argument lists are built once by `load`; `execute` then allocates nothing,
/// converts nothing and locks nothing. One method is for one thread at a time; different methods
/// run at the same time, also of one program.
class Method {
 public:
  /// Instructions that one `execute` may run before it is taken for an endless loop (ExecuTorch:
  /// ET_MAX_INSTRUCTIONS).
  static constexpr std::uint64_t max_instructions = 10'000'000;

  /// Loads `name` in ExecuTorch's order (Method::init): values, then delegates in their order, then
  /// instructions. On failure the delegates that were initialised are destroyed again.
  ///
  /// An operator that neither `options.kernels` nor the host itself has a kernel for is asked for
  /// in plugins that offer kernels (find_kernel_backends), which are loaded for it.
  ///
  /// errors: InvalidArgument (no such method; an option for a backend that is not used),
  ///         NotFound (backend not registered or not available; named data), OperatorMissing (what
  ///         the plugins that were asked said stands behind it),
  ///         InvalidExternalData, InvalidProgram (a tensor whose planned buffer is on another
  ///         device), NotFound also for memory planned on a device that none of the method's
  ///         backends serves (find_device_memory: the text says what each was asked and answered),
  ///         AccessFailed (code in the program that `embedded_code` does not let in),
  ///         MemoryAllocationFailed, and whatever a backend's `init` or `create_kernel`
  ///         fails with.
  [[nodiscard]] static Result<std::unique_ptr<Method>> load(std::shared_ptr<const Program> program,
                                                            std::string_view name,
                                                            MethodOptions options = {}) {
    try {
      TENON_TRY(const schema::ExecutionPlan* plan, program->plan(name));
      std::unique_ptr<Method> method(new Method(std::move(program), *plan, std::move(options)));
      if (Status built = method->build(); !built.ok()) {
        return std::move(built).with_context(concat(method->program_->name(), ": method ", name));
      }
      return method;
    } catch (const std::bad_alloc&) {
      return error(Error::MemoryAllocationFailed, "method ", name, ": out of memory");
    }
  }

  Method(const Method&) = delete;
  Method& operator=(const Method&) = delete;

  /// Destroys the kernels of plugins, then the delegates in the order in which they were
  /// initialised, then frees what the method has on devices.
  ~Method() {
    plugin_kernels_.clear();
    for (const detail::LoadedDelegate& delegate : delegates_) delegate.destroy();
  }

  [[nodiscard]] std::string_view name() const noexcept { return plan_.name()->string_view(); }
  [[nodiscard]] const Program& program() const noexcept { return *program_; }

  [[nodiscard]] std::size_t num_inputs() const noexcept { return inputs_.size(); }
  [[nodiscard]] std::size_t num_outputs() const noexcept { return plan_.outputs()->size(); }

  /// Sets input `index` to a tensor without copying it: the bytes must stay as they are until
  /// `execute` has returned, on a device until its work is done. They are copied, at once, only
  /// when the program keeps a second name for the input's planned memory, through which it may read
  /// them, and when they lie on the CPU and the planned memory on a device.
  ///
  /// A shape that is dynamic takes any sizes within its bounds. InvalidArgument for a wrong index,
  /// dtype, number of bytes, alignment or device; NotSupported for sizes that do not fit.
  [[nodiscard]] Status set_input(std::size_t index, const InputTensor& tensor) {
    TENON_CHECK(check_input(index));
    if (Status set = inputs_[index].set(tensor); !set.ok()) return in_input(index, std::move(set));
    mark_set(index);
    return ok();
  }

  /// Confirms an input that is not a tensor: it must equal what was exported (ExecuTorch:
  /// Method::set_input).
  [[nodiscard]] Status set_input(std::size_t index, const InputScalar& scalar) {
    TENON_CHECK(check_input(index));
    if (Status set = inputs_[index].set(scalar); !set.ok()) return in_input(index, std::move(set));
    mark_set(index);
    return ok();
  }

  /// Gives output `index`, which is not memory-planned, the bytes to write to, which lie on
  /// `device`. They must stay valid while the method may run. InvalidState for a planned output,
  /// InvalidArgument when `bytes` is smaller than the output, misaligned or on another device
  /// (ExecuTorch: Method::set_output_data_ptr).
  [[nodiscard]] Status set_output(std::size_t index, std::span<std::byte> bytes,
                                  tenon_dl_device device = {TENON_DL_CPU, 0}) {
    TENON_CHECK(check_output(index));
    return detail::set_output_bytes(value(*plan_.outputs(), index), bytes, device)
        .with_context(concat("output ", index));
  }

  /// Copies the bytes of output `index`, a tensor, to `to`, wherever they lie. InvalidArgument when
  /// `to` has not exactly the output's size, InvalidState without data, NotSupported for a device
  /// that no backend of the method serves; otherwise as the copy fails.
  [[nodiscard]] Status read_output(std::size_t index, std::span<std::byte> to) const {
    TENON_CHECK(check_output(index));
    Status read = detail::read_bytes(output(index), devices_, to);
    return read.ok() ? ok() : std::move(read).with_context(concat("output ", index));
  }

  /// The value of an output, below `num_outputs()`. Tensor data is valid until the next `execute`;
  /// an output the method passes on from an input is the caller's own memory. For data on a device
  /// see `read_output`.
  [[nodiscard]] const tenon_value& output(std::size_t index) const noexcept {
    return value(*plan_.outputs(), index);
  }
  [[nodiscard]] const tenon_value& input(std::size_t index) const noexcept {
    return value(*plan_.inputs(), index);
  }

  /// Runs the method once. After a failure it may be run again.
  ///
  /// errors: InvalidArgument (an input was not set), InvalidProgram (a condition that is neither
  ///         boolean nor a boolean tensor; more than `max_instructions`), and whatever a delegate
  ///         or kernel fails with, its text preceded by where it happened.
  [[nodiscard]] Status execute() {
    if (num_missing_inputs_ != 0) [[unlikely]]
      return refuse_missing_input();
    return options_.trace ? run_traced() : run<false>();
  }

  /// Makes a state of its own for every delegate, as `load` gave it. NotSupported when a backend
  /// has no sessions.
  [[nodiscard]] Result<std::unique_ptr<Session>> create_session() {
    return Session::create(delegates_);
  }

  /// From now on `execute` runs with the state of `session`, which this method made; null means the
  /// method's own again. Costs a pointer for each delegate; not while `execute` runs.
  void use_session(const Session* session) noexcept {
    if (session) return session->use();
    for (detail::LoadedDelegate& delegate : delegates_) delegate.active = &delegate.own;
  }

  /// From now on the delegates of `backend_id` run on `stream`, the native handle of a stream of
  /// their device (a `cudaStream_t`), which must stay valid until they have another or the method
  /// goes. `execute` may then return before tensors on the device are complete; they are when the
  /// stream has come there. What `read_output` and the program itself copy to the host is complete
  /// as ever. Null gives each delegate its own stream back. Holds for the session that is in use;
  /// not while `execute` runs.
  ///
  /// errors: InvalidArgument (no delegate uses that backend), NotSupported (it has no extension
  ///         "tenon.streams/1"; a delegate that cannot), and whatever the backend fails with. All
  ///         delegates then have the streams that they had.
  [[nodiscard]] Status set_stream(std::string_view backend_id, void* stream) {
    return detail::set_stream(delegates_, backend_id, stream);
  }

 private:
  using Kind = schema::InstructionArguments;

  Method(std::shared_ptr<const Program> program, const schema::ExecutionPlan& plan,
         MethodOptions options)
      : program_(std::move(program)), plan_(plan), options_(std::move(options)) {}

  /// Services that kernels get: they resize outputs and leave error texts like a backend.
  static const tenon_host* kernel_host() {
    static const HostTable table({}, "");
    return table.get();
  }

  Status build() {
    if (program_->num_keys() != 0 || !options_.data_files.empty()) {
      TENON_TRY(data_, NamedDataMap::create(program_, options_.data_files));
    }
    std::shared_ptr<const NamedDataMap> external;
    if (!options_.data_files.empty()) {
      TENON_TRY(external, NamedDataMap::create(nullptr, options_.data_files));
    }
    TENON_CHECK(check_options());
    detail::DelegateLoader loader{*program_,
                                  plan_.name()->c_str(),
                                  options_.registry,
                                  options_.backends,
                                  data_.get(),
                                  options_.trace,
                                  options_.backend_options,
                                  options_.embedded_code,
                                  arena_,
                                  temp_arena_,
                                  uses_};
    TENON_CHECK(detail::find_devices(plan_, options_.backends, loader, devices_));
    TENON_TRY(planned_, PlannedMemory::allocate(plan_, devices_));
    TENON_TRY(
        values_,
        detail::ValueBuilder(program_->view(), plan_, arena_, planned_, external.get()).build());
    inputs_ = detail::find_inputs(plan_, values_, devices_);
    num_missing_inputs_ =
        static_cast<std::size_t>(std::ranges::count(inputs_, false, &detail::MethodInput::is_set));
    TENON_CHECK(load_delegates(loader));
    TENON_TRY(chains_, detail::InstructionBuilder(plan_, values_, delegates_, options_.kernels,
                                                  copy_kernels_, plugin_kernels_, loader, arena_)
                           .build());
    kernel_context_ = {sizeof(tenon_execution_context),
                       0,
                       kernel_host(),
                       plan_.name()->c_str(),
                       temp_arena_.table(),
                       options_.trace ? options_.trace->table() : nullptr};
    return ok();
  }

  Status load_delegates(detail::DelegateLoader& loader) {
    const auto& serialized = *plan_.delegates();
    auto* delegates = arena_.allocate_list<detail::LoadedDelegate>(serialized.size());
    if (!delegates) return error(Error::MemoryAllocationFailed, "no memory for the delegates");
    for (flatbuffers::uoffset_t i = 0; i < serialized.size(); ++i) {
      const schema::BackendDelegate& from = *serialized.Get(i);
      new (&delegates[i]) detail::LoadedDelegate();
      const std::uint64_t start = options_.trace ? options_.trace->now_ns() : 0;
      if (Status loaded = loader.load(from, delegates[i]); !loaded.ok()) {
        if (options_.failed_delegate) *options_.failed_delegate = i;
        return std::move(loaded).with_context(
            concat("delegate ", i, " (", from.id()->string_view(), ")"));
      }
      delegates_ = {delegates, i + 1};
      if (options_.trace) {
        options_.trace->add("init", "delegate", start, options_.trace->now_ns(),
                            {{"backend", from.id()->str()}, {"delegate", concat(i)}});
      }
    }
    return ok();
  }

  Status check_options() const {
    for (const BackendOption& option : options_.backend_options) {
      bool used = false;
      for (const auto* delegate : *plan_.delegates()) {
        used = used || delegate->id()->string_view() == option.backend_id;
      }
      if (!used) {
        return error(Error::InvalidArgument, "option ", option.backend_id, ".", option.key,
                     ": no delegate of the method uses that backend");
      }
    }
    return ok();
  }

  template <bool Traced>
  Status run() {
    std::uint64_t budget = max_instructions;
    for (std::size_t c = 0; c < chains_.size(); ++c) {
      const std::span<const detail::Instruction> chain = chains_[c];
      for (std::size_t i = 0; i < chain.size();) {
        if (budget-- == 0) [[unlikely]]
          return errors().endless(c, i, max_instructions);
        const detail::Instruction& at = chain[i];
        std::size_t next = i + 1;
        tenon_status status = TENON_STATUS_OK;
        [[maybe_unused]] const std::uint64_t start = Traced ? options_.trace->now_ns() : 0;
        switch (at.kind) {
          case Kind::DelegateCall:
            status = at.delegate->execute(at.args, at.num_args);
            break;
          case Kind::KernelCall:
            status = at.kernel->run(at.kernel->self, &kernel_context_, at.args, at.num_args);
            break;
          case Kind::MoveCall:
            *at.to = *at.from;
            break;
          case Kind::JumpFalseCall: {
            const int condition = detail::read_condition(*at.condition);
            if (condition < 0) [[unlikely]]
              return errors().condition(c, i, *at.condition);
            if (condition == 0) next = at.destination;
            break;
          }
          default:
            if (at.to->kind != TENON_VALUE_TENSOR) [[unlikely]]
              return errors().free(c, i, *at.to);
            at.to->as.tensor->dl.data = nullptr;
            break;
        }
        if constexpr (Traced) {
          detail::trace_instruction(*options_.trace, errors(), at, c, i, start);
        }
        temp_arena_.reset();
        if (status != TENON_STATUS_OK) [[unlikely]]
          return errors().call(c, i, at, status, delegates_, kernel_host());
        i = next;
      }
    }
    return ok();
  }

  Status run_traced() {
    const std::uint64_t start = options_.trace->now_ns();
    Status outcome = run<true>();
    options_.trace->add("execute", "method", start, options_.trace->now_ns(),
                        {{"method", std::string(name())}});
    return outcome;
  }

  [[nodiscard]] detail::MethodErrors errors() const noexcept { return {plan_}; }

  [[nodiscard]] Status refuse_missing_input() const {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!inputs_[i].is_set) {
        return error(Error::InvalidArgument, "method ", name(), ": input ", i, " was not set");
      }
    }
    return error(Error::Internal, "method ", name(), ": inputs were counted wrongly");
  }

  [[nodiscard]] Status check_input(std::size_t index) const {
    if (index < inputs_.size()) return ok();
    return error(Error::InvalidArgument, "method ", name(), ": input ", index, ": the method has ",
                 inputs_.size());
  }
  [[nodiscard]] Status check_output(std::size_t index) const {
    if (index < num_outputs()) return ok();
    return error(Error::InvalidArgument, "output ", index, ": the method has ", num_outputs());
  }
  [[nodiscard]] Status in_input(std::size_t index, Status failed) const {
    return std::move(failed).with_context(concat("method ", name(), ": input ", index));
  }
  void mark_set(std::size_t index) noexcept {
    if (!std::exchange(inputs_[index].is_set, true)) --num_missing_inputs_;
  }

  [[nodiscard]] tenon_value& value(const flatbuffers::Vector<std::int32_t>& indices,
                                   std::size_t index) const noexcept {
    return values_[static_cast<std::size_t>(
        indices.Get(static_cast<flatbuffers::uoffset_t>(index)))];
  }

  // Members go in reverse order: backends (and with them plugins) after the memory of the method,
  // the program last.
  std::shared_ptr<const Program> program_;
  const schema::ExecutionPlan& plan_;
  MethodOptions options_;
  std::shared_ptr<const NamedDataMap> data_;
  std::vector<std::unique_ptr<detail::BackendUse>> uses_;
  DeviceMemories devices_;
  detail::CopyKernels copy_kernels_{devices_};
  PlannedMemory planned_;
  Arena arena_;
  Arena temp_arena_;
  std::span<tenon_value> values_;
  std::vector<detail::MethodInput> inputs_;
  std::size_t num_missing_inputs_ = 0;
  std::span<detail::LoadedDelegate> delegates_;
  detail::PluginKernels plugin_kernels_;
  std::vector<std::span<const detail::Instruction>> chains_;
  tenon_execution_context kernel_context_{};
};

}  // namespace tenon::host
