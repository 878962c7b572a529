// SPDX-License-Identifier: MIT
// Mistakes in what a mixin requires.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "whole.hpp"

// expect: tenon: the backend's mixins must be public bases
namespace private_mixin {
class X final : public tenon::Backend<X>, public Whole, tenon::WithDevices<X> {
 public:
  tenon::Result<std::vector<tenon::DeviceInfo>> devices() { return tenon::ok(); }
};
TENON_PLUGIN(X);
}  // namespace private_mixin

// The list of devices is missing as well; one mistake is one error.
// expect: tenon: WithMemoryInfo needs a public `tenon::MemoryUses memory_info(const Delegate*)`
namespace two_mixins_are_wrong {
struct X final : tenon::Backend<X>, tenon::WithDevices<X>, tenon::WithMemoryInfo<X>, Whole {};
TENON_PLUGIN(X);
}  // namespace two_mixins_are_wrong

// expect: tenon: WithMemoryInfo needs a public
namespace memory_info_missing {
struct X final : tenon::Backend<X>, tenon::WithMemoryInfo<X>, Whole {};
TENON_PLUGIN(X);
}  // namespace memory_info_missing

// expect: tenon: WithCheckBlob needs a public
namespace check_blob_missing {
struct X final : tenon::Backend<X>, tenon::WithCheckBlob<X>, Whole {};
TENON_PLUGIN(X);
}  // namespace check_blob_missing

// expect: tenon: WithSequence needs a public
namespace state_missing {
struct X final : tenon::Backend<X>, tenon::WithSequence<X>, Whole {};
TENON_PLUGIN(X);
}  // namespace state_missing

// expect: tenon: WithCancel needs a public `void cancel(Delegate&) noexcept`
namespace cancel_may_throw {
struct X final : tenon::Backend<X>, tenon::WithCancel<X>, Whole {
  void cancel(Delegate&) {}
};
TENON_PLUGIN(X);
}  // namespace cancel_may_throw

// expect: tenon: WithEstimate needs a public
namespace estimate_missing {
struct X final : tenon::Backend<X>, tenon::WithEstimate<X>, Whole {};
TENON_PLUGIN(X);
}  // namespace estimate_missing

// expect: tenon: WithIntermediates needs a public
namespace intermediates_missing {
struct X final : tenon::Backend<X>, tenon::WithIntermediates<X>, Whole {};
TENON_PLUGIN(X);
}  // namespace intermediates_missing

// expect: tenon: WithScheduling needs a public `static constexpr tenon::SchedulingUse
namespace scheduling_use_missing {
struct X final : tenon::Backend<X>, tenon::WithScheduling<X>, Whole {};
TENON_PLUGIN(X);
}  // namespace scheduling_use_missing

// expect: tenon: WithScheduling's set_scheduling has to be a public
namespace set_scheduling_returns_void {
struct X final : tenon::Backend<X>, tenon::WithScheduling<X>, Whole {
  static constexpr tenon::SchedulingUse scheduling_use{};
  void set_scheduling(Delegate&, const tenon::Scheduling&) {}
};
TENON_PLUGIN(X);
}  // namespace set_scheduling_returns_void

// expect: tenon: WithSessions needs a public
namespace create_session_missing {
struct X final : tenon::Backend<X>, tenon::WithSessions<X>, Whole {};
TENON_PLUGIN(X);
}  // namespace create_session_missing

// expect: tenon: WithSessions needs a public `tenon::Result<Delegate> create_session(const
// Delegate&)`
namespace create_session_takes_a_pointer {
struct X final : tenon::Backend<X>, tenon::WithSessions<X>, Whole {
  tenon::Result<Delegate> create_session(const Delegate* delegate) { return Delegate{*delegate}; }
};
TENON_PLUGIN(X);
}  // namespace create_session_takes_a_pointer

// What a backend lacks comes before what its mixin lacks.
// expect: tenon: the backend has no public `tenon::Status execute(tenon::ExecutionContext&,
// Delegate&, tenon::Args)`
namespace execute_takes_a_pointer {
struct X final : tenon::Backend<X>, tenon::WithSessions<X>, Whole {
  tenon::Status execute(tenon::ExecutionContext&, Delegate*, tenon::Args) { return tenon::ok(); }
  tenon::Result<Delegate> create_session(const Delegate* delegate) { return Delegate{*delegate}; }
};
TENON_PLUGIN(X);
}  // namespace execute_takes_a_pointer

// expect: tenon: WithStreams needs a public
namespace set_stream_missing {
struct X final : tenon::Backend<X>, tenon::WithStreams<X>, Whole {};
TENON_PLUGIN(X);
}  // namespace set_stream_missing

// expect: tenon: WithStreams needs a public
namespace set_stream_returns_void {
struct X final : tenon::Backend<X>, tenon::WithStreams<X>, Whole {
  void set_stream(Delegate&, void*) {}
};
TENON_PLUGIN(X);
}  // namespace set_stream_returns_void

// expect: tenon: WithStreams needs a public `static constexpr const char* stream_kind
namespace streams_kind_missing {
struct X final : tenon::Backend<X>, tenon::WithStreams<X>, Whole {
  tenon::Status set_stream(Delegate&, void*) { return tenon::ok(); }
};
TENON_PLUGIN(X);
}  // namespace streams_kind_missing

// expect: tenon: WithOptions needs a public
namespace options_missing {
struct X final : tenon::Backend<X>, tenon::WithOptions<X>, Whole {};
TENON_PLUGIN(X);
}  // namespace options_missing

// expect: tenon: WithOptions needs a public
namespace options_of_other_type {
struct X final : tenon::Backend<X>, tenon::WithOptions<X>, Whole {
  static constexpr std::array options{1, 2};
};
TENON_PLUGIN(X);
}  // namespace options_of_other_type

// expect: tenon: the backend's `on_set_option` must be
namespace on_set_option_returns_void {
struct X final : tenon::Backend<X>, tenon::WithOptions<X>, Whole {
  static constexpr std::array options{tenon::OptionSpec{"threads", 1, "worker threads"}};
  void on_set_option(std::string_view, const tenon::OptionView&) {}
};
TENON_PLUGIN(X);
}  // namespace on_set_option_returns_void

// expect: tenon: an option's initial value is outside of its limits
namespace initial_value_outside_limits {
struct X final : tenon::Backend<X>, tenon::WithOptions<X>, Whole {
  static constexpr std::array options{tenon::OptionSpec{"threads", 0, "threads"}.between(1, 16)};
};
TENON_PLUGIN(X);
}  // namespace initial_value_outside_limits

// expect: tenon: the limits of an option must have the type of its initial value
namespace limits_of_another_type {
struct X final : tenon::Backend<X>, tenon::WithOptions<X>, Whole {
  static constexpr std::array options{tenon::OptionSpec{"scale", 0.5, "factor"}.between(0, 1)};
};
TENON_PLUGIN(X);
}  // namespace limits_of_another_type

struct Operators : Named {
  static constexpr std::array operators{std::string_view("aten::add.out")};
};
struct Kernels {
  struct Kernel {
    tenon::Status run(tenon::ExecutionContext&, tenon::Args) { return tenon::ok(); }
  };
  tenon::Result<Kernel> create_kernel(std::string_view, tenon::Args) { return Kernel{}; }
};

// expect: tenon: WithKernels needs a public `struct Kernel`
namespace kernel_missing {
struct X final : tenon::Backend<X>, tenon::WithKernels<X>, Named {};
TENON_PLUGIN(X);
}  // namespace kernel_missing

// expect: tenon: WithKernels needs a public `struct Kernel`
namespace kernel_run_returns_void {
struct X final : tenon::Backend<X>, tenon::WithKernels<X>, Operators {
  struct Kernel {
    void run(tenon::ExecutionContext&, tenon::Args) {}
  };
  tenon::Result<Kernel> create_kernel(std::string_view, tenon::Args) { return Kernel{}; }
};
TENON_PLUGIN(X);
}  // namespace kernel_run_returns_void

// expect: tenon: WithKernels needs a public `tenon::Result<Kernel>
namespace create_kernel_missing {
struct X final : tenon::Backend<X>, tenon::WithKernels<X>, Operators {
  using Kernel = Kernels::Kernel;
};
TENON_PLUGIN(X);
}  // namespace create_kernel_missing

// expect: tenon: WithKernels needs a public `static constexpr std::array operators`
namespace operators_missing {
struct X final : tenon::Backend<X>, tenon::WithKernels<X>, Named, Kernels {};
TENON_PLUGIN(X);
}  // namespace operators_missing

// expect: tenon: the backend's `operators` must be
namespace operators_twice {
struct X final : tenon::Backend<X>, tenon::WithKernels<X>, Named, Kernels {
  static constexpr std::array<std::string_view, 2> operators{"aten::add.out", "aten::add.out"};
};
TENON_PLUGIN(X);
}  // namespace operators_twice

// expect: tenon: the backend has no public `tenon::Status execute(
namespace kernels_with_half_a_delegate {
struct X final : tenon::Backend<X>, tenon::WithKernels<X>, Loads, Operators, Kernels {};
TENON_PLUGIN(X);
}  // namespace kernels_with_half_a_delegate

// expect: tenon: the backend's mixins must be public bases
namespace private_kernels {
class X final : public tenon::Backend<X>,
                public Operators,
                public Kernels,
                tenon::WithKernels<X> {};
TENON_PLUGIN(X);
}  // namespace private_kernels

struct Devices : Whole {
  tenon::Result<std::vector<tenon::DeviceInfo>> devices() {
    return std::vector<tenon::DeviceInfo>();
  }
};
struct Allocates {
  tenon::Result<void*> allocate_device(tenon_dl_device, std::size_t, std::size_t) {
    return nullptr;
  }
  void free_device(tenon_dl_device, void*) noexcept {}
  tenon::Status copy_to_device(tenon_dl_device, void*, const void*, std::size_t) {
    return tenon::ok();
  }
};
struct DeviceMemory : Allocates {
  tenon::Status copy_to_host(tenon_dl_device, void*, const void*, std::size_t) {
    return tenon::ok();
  }
};

// expect: tenon: WithDevices needs a public
namespace devices_returns_vector {
struct X final : tenon::Backend<X>, tenon::WithDevices<X>, Whole {
  std::vector<tenon::DeviceInfo> devices() { return {}; }
};
TENON_PLUGIN(X);
}  // namespace devices_returns_vector

// expect: tenon: WithDeviceMemory needs WithDevices
namespace device_memory_without_devices {
struct X final : tenon::Backend<X>, tenon::WithDeviceMemory<X>, Whole, DeviceMemory {};
TENON_PLUGIN(X);
}  // namespace device_memory_without_devices

// expect: tenon: WithDeviceMemory needs a public
namespace copy_to_host_missing {
struct X final : tenon::Backend<X>,
                 tenon::WithDevices<X>,
                 tenon::WithDeviceMemory<X>,
                 Devices,
                 Allocates {};
TENON_PLUGIN(X);
}  // namespace copy_to_host_missing

// expect: tenon: WithDeviceMemory needs a public
namespace free_device_may_throw {
struct X final : tenon::Backend<X>,
                 tenon::WithDevices<X>,
                 tenon::WithDeviceMemory<X>,
                 Devices,
                 DeviceMemory {
  void free_device(tenon_dl_device, void*) {}
};
TENON_PLUGIN(X);
}  // namespace free_device_may_throw

// expect: tenon: `copy_on` of WithDeviceMemory is a public
namespace copy_on_of_other_parameters {
struct X final : tenon::Backend<X>,
                 tenon::WithDevices<X>,
                 tenon::WithDeviceMemory<X>,
                 Devices,
                 DeviceMemory {
  tenon::Status copy_on(void*, void*, const void*, std::size_t) { return tenon::ok(); }
};
TENON_PLUGIN(X);
}  // namespace copy_on_of_other_parameters

struct MemoryKinds : Whole {
  static constexpr std::array memory_kinds{tenon::MemoryKind::MemFd};
};

// expect: tenon: WithExternalMemory needs a public
namespace external_memory_without_import {
struct X final : tenon::Backend<X>, tenon::WithExternalMemory<X>, MemoryKinds {};
TENON_PLUGIN(X);
}  // namespace external_memory_without_import

// expect: tenon: fences need a public
namespace external_fences_half_there {
struct X final : tenon::Backend<X>, tenon::WithExternalMemory<X>, MemoryKinds {
  struct ImportedMemory {
    void* data() const { return nullptr; }
  };
  tenon::Result<ImportedMemory> import_memory(const tenon::ExternalMemory&) {
    return ImportedMemory{};
  }
  tenon::Status wait_fence(Delegate&, const tenon::ExternalFence&) { return tenon::ok(); }
};
TENON_PLUGIN(X);
}  // namespace external_fences_half_there

struct Started : Whole {
  struct Event {};
  tenon::Result<Event> create_event() { return Event{}; }
  tenon::Status start(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};
struct Recorded : Started {
  tenon::Status record_event(Delegate&, Event&) { return tenon::ok(); }
};
struct Events : Recorded {
  tenon::Status wait_event(Event&, std::uint64_t) { return tenon::ok(); }
  tenon::Result<bool> query_event(Event&) { return true; }
  tenon::Status wait_on_event(Delegate&, Event&) { return tenon::ok(); }
};

// expect: tenon: WithEvents needs a `Delegate`, `init` and `execute`; kernels alone
namespace events_of_kernels_alone {
struct X final : tenon::Backend<X>,
                 tenon::WithEvents<X>,
                 tenon::WithKernels<X>,
                 Operators,
                 Kernels {};
TENON_PLUGIN(X);
}  // namespace events_of_kernels_alone

// expect: tenon: WithEvents needs a public `struct Event`
namespace events_event_missing {
struct X final : tenon::Backend<X>, tenon::WithEvents<X>, Whole {
  tenon::Status start(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};
TENON_PLUGIN(X);
}  // namespace events_event_missing

// expect: start(tenon::ExecutionContext&, Delegate&, tenon::Args)
namespace events_start_returns_void {
struct X final : tenon::Backend<X>, tenon::WithEvents<X>, Started {
  void start(tenon::ExecutionContext&, Delegate&, tenon::Args) {}
};
TENON_PLUGIN(X);
}  // namespace events_start_returns_void

// expect: tenon: WithEvents needs a public `tenon::Status record_event(Delegate&, Event&)`
namespace events_query_missing {
struct X final : tenon::Backend<X>, tenon::WithEvents<X>, Recorded {};
TENON_PLUGIN(X);
}  // namespace events_query_missing

// expect: tenon: `on_event_complete` of WithEvents is a public
namespace events_function_of_other_parameters {
struct X final : tenon::Backend<X>, tenon::WithEvents<X>, Events {
  tenon::Status on_event_complete(Event&, void (*)(void*)) { return tenon::ok(); }
};
TENON_PLUGIN(X);
}  // namespace events_function_of_other_parameters

// expect: tenon: native handles of events need a public
namespace events_kind_without_export {
struct X final : tenon::Backend<X>, tenon::WithEvents<X>, Events {
  static constexpr const char* event_kind = "acme.fence";
};
TENON_PLUGIN(X);
}  // namespace events_kind_without_export
