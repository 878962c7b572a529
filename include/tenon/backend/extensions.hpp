// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/abi/extensions/check_blob.h"
#include "tenon/abi/extensions/device_memory.h"
#include "tenon/abi/extensions/devices.h"
#include "tenon/abi/extensions/events.h"
#include "tenon/abi/extensions/kernels.h"
#include "tenon/abi/extensions/memory_info.h"
#include "tenon/abi/extensions/sessions.h"
#include "tenon/abi/extensions/streams.h"
#include "tenon/core/result.hpp"

namespace tenon {

/// How well a blob fits this backend on this machine.
enum class Compatibility : std::uint32_t {
  Optimal = TENON_BLOB_OPTIMAL,
  Usable = TENON_BLOB_USABLE,
  Incompatible = TENON_BLOB_INCOMPATIBLE,
};

/// Outcome of `check_blob`, with the reason when it is not Optimal.
struct BlobVerdict {
  Compatibility compatibility = Compatibility::Optimal;
  std::string reason;
};

/// Mixin: the backend checks whether a blob fits, without its device. The author adds
/// `Result<BlobVerdict> check_blob(InitContext&, Blob, CompileSpecs)`.
template <class Derived>
class WithCheckBlob {};

/// Bytes held by a delegate or a backend, in addition to those that the host counts itself.
struct MemoryInfo {
  std::uint64_t host_weights = 0;
  std::uint64_t host_scratch = 0;
  std::uint64_t device_weights = 0;
  std::uint64_t device_scratch = 0;
};

/// Mixin: the backend reports the memory that it holds. The author adds
/// `MemoryInfo memory_info(const Delegate*)`; null asks for the whole backend.
template <class Derived>
class WithMemoryInfo {};

/// Mixin: several independent states over one loaded blob. The author adds
/// `Result<Delegate> create_session(const Delegate&)`: a delegate in the state after `init`, which
/// shares constant data with the given one. It may be called while the given one runs, and its
/// result is destroyed before that one.
template <class Derived>
class WithSessions {};

/// One device that a backend can use.
struct DeviceInfo {
  tenon_dl_device device{TENON_DL_CPU, 0};
  std::string name;
  std::string description;
  std::uint64_t memory_bytes = 0;  ///< 0 when unknown.
};

/// Mixin: the backend lists its devices. The author adds
/// `Result<std::vector<DeviceInfo>> devices()`.
template <class Derived>
class WithDevices {};

/// Mixin, together with WithDevices: memory on the devices that `devices()` lists. The author adds
///
///     Result<void*> allocate_device(tenon_dl_device, std::size_t nbytes, std::size_t alignment);
///     void free_device(tenon_dl_device, void* block) noexcept;
///     Status copy_to_device(tenon_dl_device, void* to, const void* from, std::size_t nbytes);
///     Status copy_to_host(tenon_dl_device, void* to, const void* from, std::size_t nbytes);
///
/// Each may be called at any time from any thread. `nbytes` is never 0, `alignment` a power of two,
/// `block` never null. A device that is not listed is InvalidArgument, lack of memory is
/// MemoryAllocationFailed. A copy runs after the work that earlier calls of `execute` enqueued on
/// the device, and is complete when it returns.
template <class Derived>
class WithDeviceMemory {};

/// Mixin: delegates run on a stream of the application. The author adds
/// `Status set_stream(Delegate&, void* stream)`, never called while the delegate runs: from then on
/// its `execute` enqueues there and may return before outputs in device memory are complete. Null
/// restores the delegate's own stream. A failure changes nothing.
template <class Derived>
class WithStreams {};

/// Mixin: runs that are started and not waited for, and events that say when they are done. The
/// author adds
///
///     struct Event { ... };                     // its destructor waits for nothing
///     Result<Event> create_event();             // complete, because it marks nothing yet
///     Status start(ExecutionContext&, Delegate&, Args);
///     Status record_event(Delegate&, Event&);   // from now on: what was started so far
///     Status wait_event(Event&);                // the failure of the last run of it, or success
///     Result<bool> query_event(Event&);         // whether it is complete; does not wait
///     Status wait_on_event(Delegate&, Event&);  // later runs begin after it
///
/// and, for native handles that other backends and the application can use, all three of
///
///     static constexpr const char* event_kind = TENON_EVENT_KIND_CUDA;
///     Result<void*> export_event(Event&);       // valid as long as the event
///     Result<Event> import_event(void* handle); // never null; the handle remains its owner's
///
/// `start` sizes the outputs before it returns; later it may use the bytes of tensors alone, not
/// `Args`, the context or its memory. `execute` stays, for hosts that wait. Runs of one delegate
/// happen in the order of their calls, and the delegate's destructor waits for them.
///
/// Threads: `start`, `record_event` and `wait_on_event` are for one delegate at a time, like
/// `execute`; `wait_event` and `query_event` may be called at the same time, also for one event.
template <class Derived>
class WithEvents {};

/// Mixin: kernels for operators that programs call outside of delegates. The author adds
///
///     static constexpr std::array operators{std::string_view("aten::add.out")};  // each once
///     struct Kernel {                                // one operator call of one loaded method;
///       Status run(ExecutionContext&, Args);         // its destructor is `destroy_kernel`
///     };
///     Result<Kernel> create_kernel(std::string_view op, Args);
///
/// and, where the operators are not known before run time, in place of `operators`
/// `Result<std::vector<std::string>> list_operators()`. A `Delegate`, `init` and `execute` may then
/// be left out, all three of them.
///
/// Arguments are in the order of the operator's schema, outputs last, followed by the operator's
/// return values. `create_kernel` checks their number, kinds, dtypes and dim orders; their data
/// need not be known yet. `run` gets the same arguments with their current data and sizes. The SDK
/// refuses operators that `operators` does not name. Return OperatorMissing where another plugin
/// may have a kernel: for a dtype, or for an operator that `list_operators` does not name.
///
/// Threads: `create_kernel` may run at the same time as any other function of the same object;
/// `run` runs once at a time on one kernel, but concurrently on different ones.
template <class Derived>
class WithKernels {};

}  // namespace tenon
