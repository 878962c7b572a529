// SPDX-License-Identifier: MIT
//
// Loading and running one method of a program: the entry of this directory. Values, kernels, memory
// and delegates of a method are in the files around it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tenon/abi/tensor.h"
#include "tenon/core/application/native_handle.hpp"
#include "tenon/core/application/scheduling.hpp"
#include "tenon/core/args.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/method/inputs.hpp"
#include "tenon/host/loader/method/options.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/loader/registry/registry.hpp"

namespace tenon { inline namespace TENON_RELEASE {
struct ExternalFence;
}}  // namespace tenon::TENON_RELEASE

namespace tenon { inline namespace TENON_RELEASE { namespace host {

// Of layers, whose headers a caller of the functions with these includes; <tenon/host.hpp> has all.
struct Intermediate;
struct IntermediateTensor;
struct MethodMemory;
class Session;
struct SessionOptions;

namespace detail {
struct MethodState;
}

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
  /// Of a method with several variants (docs/hosts/variants.md) the layer `Variant` chooses the
  /// one that is loaded, of every registry; the others are not read. A variant that fails to load
  /// is not replaced by another one.
  ///
  /// Layers are asked for a kernel of an operator that `options.kernels` lacks. `PluginKernels`,
  /// which a registry brings, loads plugins for that.
  ///
  /// errors: InvalidArgument (no such method or variant; an option for a backend that is not used),
  ///         NotFound (backend not registered or not available; named data; no variant can run
  ///         here, with the reason of each), OperatorMissing (with
  ///         the reasons of the layers that were asked), InvalidExternalData, InvalidProgram (a
  ///         tensor whose planned buffer is on another device), NotFound also for memory planned on
  ///         a device that none of the method's backends serves (find_device_memory: the text has
  ///         the reason of each), AccessFailed (code in the program that an EmbeddedCodePolicy does
  ///         not permit), OutOfResources (planned memory above `options.limits`),
  ///         MemoryAllocationFailed, whatever a layer of `options.layers` fails with, and whatever
  ///         a backend's `init` or `create_kernel` fails with.
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
  /// The name of the variant that was loaded; empty when the method has a single form.
  [[nodiscard]] std::string_view variant() const noexcept;
  [[nodiscard]] const Program& program() const noexcept;

  [[nodiscard]] std::size_t num_inputs() const noexcept;
  [[nodiscard]] std::size_t num_outputs() const noexcept;

  /// Sets input `index` to a tensor without copying it: the bytes must not change until `execute`
  /// has returned, on a device until its work is done. They are copied, at once, only when the
  /// program keeps a second name for the input's planned memory, through which it may read them,
  /// and when they are on the CPU and the planned memory on a device. A run may write over such a
  /// copy, since a program may plan another value at its address: set all inputs before each run
  /// (ExecuTorch asks for the same: examples/portable/executor_runner).
  ///
  /// A shape that is dynamic takes any sizes within its bounds. InvalidArgument for a wrong index,
  /// dtype, number of bytes, alignment or device; NotSupported for sizes that do not fit.
  [[nodiscard]] Status set_input(std::size_t index, const InputTensor& tensor);

  /// Confirms an input that is not a tensor: it must equal the exported value (ExecuTorch:
  /// Method::set_input).
  [[nodiscard]] Status set_input(std::size_t index, const InputScalar& scalar);

  /// Gives output `index`, which is not memory-planned, the bytes to write to, which are on
  /// `device`. They must stay valid while the method may run, and have no byte of an input or of
  /// another output, unless the program is made for that. InvalidState for a planned output,
  /// InvalidArgument when `bytes` is smaller than the output, misaligned or on another device
  /// (ExecuTorch: Method::set_output_data_ptr).
  [[nodiscard]] Status set_output(std::size_t index, std::span<std::byte> bytes,
                                  tenon_dl_device device = {TENON_DL_CPU, 0});

  /// Copies the bytes of output `index`, a tensor, to `to`, from any device. InvalidArgument when
  /// `to` does not have exactly the output's size, InvalidState without data, NotSupported for a
  /// device that no backend of the method serves; otherwise as the copy fails.
  [[nodiscard]] Status read_output(std::size_t index, std::span<std::byte> to) const;

  /// Output `index` as a tensor of `T` in the memory of the CPU: `output<float>(0)`. Its bytes are
  /// the method's, not a copy, and valid until the next `execute`. For an output on a device see
  /// `read_output`.
  ///
  /// errors: InvalidArgument (no such output, not a tensor, no data), InvalidType (another dtype),
  ///         NotSupported (on a device; dimensions in another order in memory, unless `layout` is
  ///         Layout::Any).
  template <class T>
    requires Element<T>
  [[nodiscard]] Result<Tensor<const T>> output(std::size_t index,
                                               Layout layout = Layout::Contiguous) const {
    TENON_TRY(const TensorView tensor, output(index, *scalar_type_of<T>, layout));
    return Tensor<const T>(tensor.raw());
  }

  /// Output `index` as a tensor of a dtype that is known at run time alone.
  [[nodiscard]] Result<TensorView> output(std::size_t index, ScalarType dtype,
                                          Layout layout = Layout::Contiguous) const;

  /// The value of an output, below `num_outputs()`. Tensor data is valid until the next `execute`;
  /// an output that the method passes on from an input is the caller's own memory. For data on a
  /// device see `read_output`.
  [[nodiscard]] const tenon_value& output(std::size_t index) const noexcept;
  [[nodiscard]] const tenon_value& input(std::size_t index) const noexcept;

  /// Runs the method once. After a failure it may be run again.
  ///
  /// errors: InvalidArgument (an input was not set), InvalidProgram (a condition that is neither
  ///         boolean nor a boolean tensor; more than `limits.instructions`), OutOfResources (more
  ///         than the other limits of a run), Cancelled (`cancel`), and whatever a delegate or
  ///         kernel fails with, its text preceded by the instruction.
  [[nodiscard]] Status execute();

  /// Ends the run that is going on, also a run that `execute_async` started: no instruction begins
  /// any more, and delegates of backends that can be cancelled return. The run fails with
  /// Cancelled, or succeeds when it was at its end; then the method may be run again. Returns
  /// without waiting for that. Without a run it has no effect, also not on the next one.
  ///
  /// From any thread, at any time until the method is destroyed; not in a signal handler.
  ///
  /// errors: InvalidState (the method was loaded without the layer `Cancellation`).
  [[nodiscard]] Status cancel();

  /// The tensors that the method computes on the way to its outputs and can give, in the order of
  /// its instructions: the results of kernels, and the results of delegates whose backends have
  /// "tenon.intermediates/1". Each call returns the same list. Copied; not while the method runs.
  ///
  /// errors: InvalidState (a run is pending), MemoryAllocationFailed, InvalidExternalData (the
  ///         program's debug handles are damaged), and what a backend fails with.
  [[nodiscard]] Result<std::vector<Intermediate>> intermediates();

  /// From now on each run copies these tensors, by their numbers in `intermediates`; none ends
  /// that. Such runs take as long as the copies, an asynchronous one starts no delegate ahead, and
  /// delegates of sessions give nothing. Not while the method runs.
  ///
  /// errors: as `intermediates`, and InvalidArgument for a number that is too large. What was
  ///         recorded before is then recorded no more.
  [[nodiscard]] Status record_intermediates(std::span<const std::size_t> numbers);

  /// The recorded intermediates of the last run, in the order of their computation: in a loop some
  /// more than once. After a run that failed, what it computed up to then. Valid until the next run
  /// or `record_intermediates`; not while the method runs.
  [[nodiscard]] std::span<const IntermediateTensor> recorded_intermediates() const noexcept;

  /// Starts one run and returns; the executor of the layer `Async` runs the rest. Defined in
  /// <tenon/host/async.hpp>, which the caller includes. Delegates of backends with "tenon.events/1"
  /// are started, here as far as nothing has to be waited for: calls that need no bytes of each
  /// other overlap, and a call that does need them is given the other's event, or waited for when
  /// the backends' events are of different kinds. Everything else, and with a trace all of it, is
  /// executed by the executor's thread. When nothing is left but to wait for delegates, an executor
  /// that parks tasks gets its thread back: the backends say when to end the run.
  ///
  /// Ok: `completion` is called exactly once with what `execute` would have returned, on the
  /// executor's thread or, when the executor calls or destroys the task at once, on this one. The
  /// method then is ready for the next run, which `completion` may start; it may also destroy the
  /// method. It must not throw: an exception is the executor's to handle. A failure: it is never
  /// called, and nothing runs any more.
  ///
  /// From the call to the completion only `output`, `input` and the destructor may be called, and
  /// inputs and outputs keep their bytes; `execute`, `execute_async`, `set_input`, `set_output`,
  /// `set_stream` and `create_session` are refused with InvalidState.
  ///
  /// errors: InvalidArgument (an input was not set; no layer `Async`, no completion), InvalidState
  ///         (a run is pending), MemoryAllocationFailed, and what the executor refuses with.
  [[nodiscard]] Status execute_async(std::function<void(Status outcome)> completion);

  /// The memory that the method holds now: the host's own, exactly, and what the backends report.
  /// Not while `execute` runs.
  ///
  /// errors: a backend's own.
  [[nodiscard]] Result<MethodMemory> memory_info() const;

  /// Makes a state of its own for every delegate, like the one after `load`. Errors as with
  /// options.
  [[nodiscard]] Result<std::unique_ptr<Session>> create_session();

  /// Makes a state of its own for every delegate, like the one after `load` unless `options` copy
  /// another one.
  ///
  /// errors: NotSupported (a backend has no sessions, cannot copy a state, or cannot change an
  ///         option for a session), InvalidArgument (an option for a backend that is not used; a
  ///         state of another method; two states), InvalidState (a run is pending), OutOfResources
  ///         (what the backends state does not fit into the budget), and whatever a backend refuses
  ///         an option with.
  [[nodiscard]] Result<std::unique_ptr<Session>> create_session(const SessionOptions& options);

  /// From now on `execute` runs with the state of `session`, which this method made; null means the
  /// method's own again. Costs a pointer for each delegate; not while `execute` runs.
  void use_session(const Session* session) noexcept;

  /// From now on the delegates of `backend_id` run on `stream`, a stream of their device, which
  /// must stay valid until they have another or the method is destroyed. A `cudaStream_t` is passed
  /// as it is, another handle with its kind: `{TENON_KIND_METAL_COMMAND_QUEUE, queue}`. `execute`
  /// may then return before tensors on the device are complete; they are when the stream has
  /// completed. Copies to the host, by `read_output` or by the program itself, are always complete
  /// on return. Null gives each delegate its own stream back. Holds for the session that is in use;
  /// not while `execute` runs.
  ///
  /// errors: InvalidArgument (no delegate uses that backend; a stream of another kind than the
  ///         backend's), NotSupported (it has no extension "tenon.streams/1"; a delegate that
  ///         cannot), and whatever the backend fails with. All delegates then have the streams that
  ///         they had.
  [[nodiscard]] Status set_stream(std::string_view backend_id, NativeStream stream);

  /// From now on runs of the delegates of `backend_id` begin after `fence` of another owner is
  /// signalled (a camera's frame is there); may wait for it. Holds for the session that is in use;
  /// not while `execute` runs.
  ///
  /// errors: InvalidState (a run is pending), InvalidArgument (no delegate uses that backend; a
  ///         fence that is not valid), NotSupported (the backend has no extension
  ///         "tenon.external_memory/1", or does not know that kind of fence), and the backend's.
  [[nodiscard]] Status wait_fence(std::string_view backend_id, const ExternalFence& fence);

  /// Signals `fence` when the runs so far of the last delegate of `backend_id` are done. Otherwise
  /// as `wait_fence`.
  [[nodiscard]] Status signal_fence(std::string_view backend_id, const ExternalFence& fence);

  /// Replaces the `SchedulingHints` of the load for later runs, of the session that is in use; not
  /// while `execute` runs. Backends that follow no hints (without extension "tenon.scheduling/1")
  /// are not changed.
  ///
  /// errors: InvalidState (a run is pending), NotSupported (a backend fixes its delegates'
  ///         scheduling when they are loaded), and whatever a backend fails with. The delegates
  ///         before the one that failed have the new scheduling.
  [[nodiscard]] Status set_scheduling(const Scheduling& scheduling);

 private:
  friend struct detail::MethodState;  // The only class that derives from this one.
  Method() noexcept = default;
};

}}}  // namespace tenon::TENON_RELEASE::host
