// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/conformance/boundary.hpp"

/// The functions of the extension tables that `Boundary` gives to a host.
namespace tenon::conformance::detail {

struct ExtensionCalls {
  static WatchedExtensions& of(tenon_backend* backend) {
    return Boundary::of(backend).extensions();
  }

  /// A function of the backend as a whole: `Table` is the member of WatchedExtensions, `Function`
  /// the member of that table, `Name` how it is called in reports.
  template <auto Table, auto Function, const char* Name, class... Arguments>
  static tenon_status of_backend(tenon_backend* backend, Arguments... arguments) {
    Boundary& boundary = Boundary::of(backend);
    return boundary.watch().status_of(
        Name, 0, [&] { return ((of(backend).*Table).*Function)(boundary.opened(), arguments...); });
  }

  /// A function of one delegate.
  template <auto Table, auto Function, const char* Name, class... Arguments>
  static tenon_status of_delegate(tenon_backend* backend, tenon_delegate* delegate,
                                  Arguments... arguments) {
    Boundary& boundary = Boundary::of(backend);
    const auto* watched = reinterpret_cast<const WatchedDelegate*>(delegate);
    return boundary.watch().status_of(Name, watched->number, [&] {
      return ((of(backend).*Table).*Function)(boundary.opened(), watched->theirs, arguments...);
    });
  }

  static void free_block(tenon_backend* backend, tenon_dl_device device, void* block) {
    Boundary& boundary = Boundary::of(backend);
    boundary.watch().nothing_of(
        "free", 0, [&] { of(backend).device_memory.free(boundary.opened(), device, block); });
  }

  static tenon_status check_blob(tenon_backend* backend, const tenon_init_context* context,
                                 std::uint32_t* verdict) {
    Boundary& boundary = Boundary::of(backend);
    WatchedDelegate lent(boundary, 0, *context, boundary.faults(), boundary.shape.guard_bytes);
    tenon_buffer* processed = context->processed;
    const void* data = processed ? processed->data : nullptr;
    const tenon_init_context seen = boundary.context_for(lent, *context);
    // A verdict needs a reason, but a reason is no failure: the text is judged by who asked.
    const tenon_status status = boundary.watch().status_of("check_blob", 0, [&] {
      return boundary.with_context(lent, seen, *context, [&](tenon_init_context* shown) {
        return of(backend).check_blob.check_blob(boundary.opened(), shown, verdict);
      });
    });
    if (lent.bytes.was_released() || (processed && processed->data != data)) {
      boundary.watch().broke("TN-BLB-1", "check_blob released the blob");
    }
    return status;
  }

  static tenon_status create_session(tenon_backend* backend, tenon_delegate* delegate,
                                     tenon_delegate** out) {
    Boundary& boundary = Boundary::of(backend);
    const auto* watched = reinterpret_cast<const WatchedDelegate*>(delegate);
    auto session = boundary.new_delegate(tenon_init_context{});
    const tenon_status status = boundary.watch().status_of("create_session", watched->number, [&] {
      return of(backend).sessions.create_session(boundary.opened(), watched->theirs,
                                                 &session->theirs);
    });
    if (status == TENON_STATUS_OK) *out = boundary.hand_over(std::move(session));
    return status;
  }

  /// A kernel is watched like a delegate, and a host gets a pointer to the watched one.
  static tenon_status create_kernel(tenon_backend* backend, const char* op,
                                    tenon_value* const* args, std::uint32_t num_args,
                                    tenon_kernel** out) {
    Boundary& boundary = Boundary::of(backend);
    auto watched = boundary.new_delegate(tenon_init_context{});
    // What no plugin would give: it shows whether anything was written.
    auto* const unwritten = reinterpret_cast<tenon_kernel*>(std::uintptr_t{0xBAD0BAD0});
    tenon_kernel* kernel = unwritten;
    const tenon_status status = boundary.watch().status_of("create_kernel", watched->number, [&] {
      return of(backend).kernels.create_kernel(boundary.opened(), op, args, num_args, &kernel);
    });
    if (status != TENON_STATUS_OK) return status;
    if (!kernel || kernel == unwritten) {
      boundary.watch().broke("TN-KRN-7", "create_kernel succeeded and ",
                             kernel ? "did not write the kernel" : "gave NULL");
      return TENON_STATUS_INTERNAL;
    }
    watched->theirs = reinterpret_cast<tenon_delegate*>(kernel);
    *out = reinterpret_cast<tenon_kernel*>(boundary.hand_over(std::move(watched)));
    return status;
  }

  static tenon_status run_kernel(tenon_kernel* kernel, const tenon_execution_context* context) {
    auto& watched = *reinterpret_cast<WatchedDelegate*>(kernel);
    Boundary& boundary = *watched.boundary;
    const tenon_execution_context* seen = boundary.execution_context_for(watched, *context);
    ++boundary.kernel_runs;
    return boundary.watch().status_of("run_kernel", watched.number, [&] {
      return boundary.extensions().kernels.run_kernel(
          reinterpret_cast<tenon_kernel*>(watched.theirs), seen);
    });
  }

  static void destroy_kernel(tenon_backend* backend, tenon_kernel* kernel) {
    if (!kernel) return;
    Boundary& boundary = Boundary::of(backend);
    const auto watched = boundary.take_back(reinterpret_cast<tenon_delegate*>(kernel));
    boundary.watch().nothing_of("destroy_kernel", watched->number, [&] {
      of(backend).kernels.destroy_kernel(boundary.opened(),
                                         reinterpret_cast<tenon_kernel*>(watched->theirs));
    });
  }

  static constexpr char list_devices[] = "list_devices";
  static constexpr char list_operators[] = "list_operators";
  static constexpr char memory_info[] = "memory_info";
  static constexpr char set_option[] = "set_option";
  static constexpr char get_option[] = "get_option";
  static constexpr char partition[] = "partition";
  static constexpr char ops_to_not_decompose[] = "ops_to_not_decompose";
  static constexpr char preprocess[] = "preprocess";
  static constexpr char set_stream[] = "set_stream";
  static constexpr char allocate[] = "allocate";
  static constexpr char copy_to_device[] = "copy_to_device";
  static constexpr char copy_to_host[] = "copy_to_host";
};

/// Shows `functions` of which the plugin has its own in `mine`.
template <class Table>
const void* WatchedExtensions::keep(Table& mine, const void* theirs, Table& shown,
                                    const Table& functions) {
  mine = host::complete_table<Table>(theirs);
  shown = functions;
  return &shown;
}

inline const void* WatchedExtensions::wrap(std::string_view id, const void* theirs) {
  using C = ExtensionCalls;
  using W = WatchedExtensions;
  if (id == TENON_EXTENSION_CHECK_BLOB) {
    using T = tenon_check_blob_v1;
    return keep(check_blob, theirs, shown_check_blob_, T{sizeof(T), 0, &C::check_blob});
  }
  if (id == TENON_EXTENSION_DEVICE_MEMORY) {
    using T = tenon_device_memory_v1;
    return keep(
        device_memory, theirs, shown_device_memory_,
        T{sizeof(T), 0, &C::of_backend<&W::device_memory, &T::allocate, C::allocate>,
          &C::free_block, &C::of_backend<&W::device_memory, &T::copy_to_device, C::copy_to_device>,
          &C::of_backend<&W::device_memory, &T::copy_to_host, C::copy_to_host>});
  }
  if (id == TENON_EXTENSION_DEVICES) {
    using T = tenon_devices_v1;
    return keep(devices, theirs, shown_devices_,
                T{sizeof(T), 0, &C::of_backend<&W::devices, &T::list_devices, C::list_devices>});
  }
  if (id == TENON_EXTENSION_KERNELS) {
    using T = tenon_kernels_v1;
    return keep(kernels, theirs, shown_kernels_,
                T{sizeof(T), 0, &C::of_backend<&W::kernels, &T::list_operators, C::list_operators>,
                  &C::create_kernel, &C::run_kernel, &C::destroy_kernel});
  }
  if (id == TENON_EXTENSION_MEMORY_INFO) {
    using T = tenon_memory_info_v1;
    return keep(memory_info, theirs, shown_memory_info_,
                T{sizeof(T), 0, &C::of_delegate<&W::memory_info, &T::memory_info, C::memory_info>});
  }
  if (id == TENON_EXTENSION_OPTIONS) {
    using T = tenon_options_v1;
    const auto own = host::complete_table<T>(theirs);
    return keep(options, theirs, shown_options_,
                T{sizeof(T), own.num_specs, own.specs,
                  &C::of_backend<&W::options, &T::set_option, C::set_option>,
                  &C::of_backend<&W::options, &T::get_option, C::get_option>});
  }
  if (id == TENON_EXTENSION_PREPROCESS) {
    using T = tenon_preprocess_v1;
    const auto own = host::complete_table<T>(theirs);
    T shown{sizeof(T), 0, &C::of_backend<&W::preprocess, &T::partition, C::partition>,
            &C::of_backend<&W::preprocess, &T::ops_to_not_decompose, C::ops_to_not_decompose>,
            &C::of_backend<&W::preprocess, &T::preprocess, C::preprocess>};
    // What a backend leaves out says something, too.
    if (!own.partition) shown.partition = nullptr;
    if (!own.ops_to_not_decompose) shown.ops_to_not_decompose = nullptr;
    if (!own.preprocess) shown.preprocess = nullptr;
    return keep(preprocess, theirs, shown_preprocess_, shown);
  }
  if (id == TENON_EXTENSION_SESSIONS) {
    using T = tenon_sessions_v1;
    return keep(sessions, theirs, shown_sessions_, T{sizeof(T), 0, &C::create_session});
  }
  if (id == TENON_EXTENSION_STREAMS) {
    using T = tenon_streams_v1;
    return keep(streams, theirs, shown_streams_,
                T{sizeof(T), 0, &C::of_delegate<&W::streams, &T::set_stream, C::set_stream>});
  }
  return nullptr;
}

}  // namespace tenon::conformance::detail
