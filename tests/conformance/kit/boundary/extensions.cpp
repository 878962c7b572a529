// SPDX-License-Identifier: MIT
#include "kit/boundary/extensions.hpp"

#include <cstdint>
#include <utility>

#include "tenon/host/binary/plugin_record.hpp"
#include "tenon/host/plugin/backend_api.hpp"

namespace tenon::inline TENON_RELEASE::conformance::detail {

/// The sink of a host behind one that judges each use of memory by `rule`.
struct SeenUses {
  Watch& watch;
  const char* rule;
  const char* function;
  tenon_memory_sink sink;
  void* context;

  static void take(void* self, const tenon_memory_use* use) noexcept {
    const OutsidePlugin outside;
    const auto& seen = *static_cast<const SeenUses*>(self);
    if (!use) return seen.watch.violated(seen.rule, seen.function, " gave its sink NULL");
    const char* const kind = host::complete_table<tenon_memory_use>(use).kind;
    if (!kind || *kind == '\0') {
      seen.watch.violated(seen.rule, seen.function, " gave its sink a use of ", use->nbytes,
                          " bytes without a kind");
    } else if (const Status text = host::detail::check_text(kind, "its kind"); !text.ok()) {
      seen.watch.violated(seen.rule, seen.function, " gave its sink a use of ", use->nbytes,
                          " bytes: ", text.text());
    }
    seen.sink(seen.context, use);
  }
};

/// The functions of these tables.
struct ExtensionCalls {
  /// A function of the backend as a whole: `Table` is the member of ExtensionTables, `Function` the
  /// member of that table, `Name` its name in reports.
  template <auto Table, auto Function, const char* Name, class... Arguments>
  static tenon_status of_backend(tenon_backend* backend, Arguments... arguments) {
    WatchedBackend& self = WatchedBackend::of(backend);
    return self.watch().status_of(Name, 0, [&] {
      return ((self.extensions().*Table).*Function)(self.opened(), arguments...);
    });
  }

  /// A function of one delegate.
  template <auto Table, auto Function, const char* Name, class... Arguments>
  static tenon_status of_delegate(tenon_backend* backend, tenon_delegate* delegate,
                                  Arguments... arguments) {
    WatchedBackend& self = WatchedBackend::of(backend);
    const auto* watched = reinterpret_cast<const WatchedDelegate*>(delegate);
    return self.watch().status_of(Name, watched->number, [&] {
      return ((self.extensions().*Table).*Function)(self.opened(), watched->theirs, arguments...);
    });
  }

  static void cancel(tenon_backend* backend, tenon_delegate* delegate) {
    WatchedBackend& self = WatchedBackend::of(backend);
    const auto* watched = reinterpret_cast<const WatchedDelegate*>(delegate);
    self.watch().nothing_of("cancel", watched->number, [&] {
      self.extensions().cancel.cancel(self.opened(), watched->theirs);
    });
  }

  static void free_block(tenon_backend* backend, tenon_dl_device device, void* block) {
    WatchedBackend& self = WatchedBackend::of(backend);
    self.watch().nothing_of(
        "free", 0, [&] { self.extensions().device_memory.free(self.opened(), device, block); });
  }

  static tenon_status check_blob(tenon_backend* backend, const tenon_init_context* context,
                                 std::uint32_t* verdict) {
    WatchedBackend& self = WatchedBackend::of(backend);
    WatchedDelegate lent(self, 0, *context, self.faults(), self.shape.guard_bytes);
    tenon_buffer* processed = context->processed;
    const void* data = processed ? processed->data : nullptr;
    const tenon_init_context shown_context = self.context_for(lent, *context);
    // A verdict needs a reason, but a reason is not a failure: the caller judges the text.
    const tenon_status status = self.watch().status_of("check_blob", 0, [&] {
      return self.with_context(lent, shown_context, *context, [&](tenon_init_context* shown) {
        return self.extensions().check_blob.check_blob(self.opened(), shown, verdict);
      });
    });
    if (lent.bytes.was_released() || (processed && processed->data != data)) {
      self.watch().violated("TN-BLB-1", "check_blob released the blob");
    }
    return status;
  }

  static tenon_status estimate(tenon_backend* backend, const tenon_init_context* context,
                               tenon_memory_sink sink, void* sink_context) {
    WatchedBackend& self = WatchedBackend::of(backend);
    WatchedDelegate lent(self, 0, *context, self.faults(), self.shape.guard_bytes);
    tenon_buffer* processed = context->processed;
    const void* data = processed ? processed->data : nullptr;
    const tenon_init_context shown_context = self.context_for(lent, *context);
    SeenUses seen{self.watch(), "TN-EST-1", "estimate", sink, sink_context};
    const tenon_status status = self.watch().status_of("estimate", 0, [&] {
      return self.with_context(lent, shown_context, *context, [&](tenon_init_context* shown) {
        return self.extensions().estimate.estimate(self.opened(), shown, &SeenUses::take, &seen);
      });
    });
    if (lent.bytes.was_released() || (processed && processed->data != data)) {
      self.watch().violated("TN-EST-1", "estimate released the blob");
    }
    return status;
  }

  /// Of a delegate, or of the backend for null. A delegate that is NULL holds nothing.
  static tenon_status memory_info(tenon_backend* backend, tenon_delegate* delegate,
                                  tenon_memory_sink sink, void* sink_context) {
    WatchedBackend& self = WatchedBackend::of(backend);
    const auto* watched = reinterpret_cast<const WatchedDelegate*>(delegate);
    if (watched && !watched->theirs) return TENON_STATUS_OK;
    SeenUses seen{self.watch(), "TN-MEM-1", "memory_info", sink, sink_context};
    return self.watch().status_of("memory_info", watched ? watched->number : 0, [&] {
      return self.extensions().memory_info.memory_info(
          self.opened(), watched ? watched->theirs : nullptr, &SeenUses::take, &seen);
    });
  }

  static tenon_status create_session(tenon_backend* backend, tenon_delegate* delegate,
                                     const tenon_session_context* context, tenon_delegate** out) {
    WatchedBackend& self = WatchedBackend::of(backend);
    const auto* watched = reinterpret_cast<const WatchedDelegate*>(delegate);
    auto session = self.new_delegate(tenon_init_context{});
    tenon_session_context shown = *context;
    shown.struct_size = sizeof shown;
    if (shown.state) shown.state = reinterpret_cast<const WatchedDelegate*>(shown.state)->theirs;
    const tenon_status status = self.watch().status_of("create_session", watched->number, [&] {
      return self.extensions().sessions.create_session(self.opened(), watched->theirs, &shown,
                                                       &session->theirs);
    });
    if (status == TENON_STATUS_OK) *out = self.lend_to_host(std::move(session));
    return status;
  }

  /// A kernel is watched like a delegate, and a host gets a pointer to the watched one.
  static tenon_status create_kernel(tenon_backend* backend, const tenon_kernel_context* context,
                                    tenon_kernel** out) {
    WatchedBackend& self = WatchedBackend::of(backend);
    auto watched = self.new_delegate(tenon_init_context{});
    // A pointer that no plugin would return: it shows whether anything was written.
    auto* const unwritten = reinterpret_cast<tenon_kernel*>(std::uintptr_t{0xBAD0BAD0});
    tenon_kernel* kernel = unwritten;
    const tenon_status status = self.watch().status_of("create_kernel", watched->number, [&] {
      return self.extensions().kernels.create_kernel(self.opened(), context, &kernel);
    });
    if (status != TENON_STATUS_OK) return status;
    if (!kernel || kernel == unwritten) {
      self.watch().violated("TN-KRN-7", "create_kernel succeeded and ",
                            kernel ? "did not write the kernel" : "gave NULL");
      return TENON_STATUS_INTERNAL;
    }
    watched->theirs = reinterpret_cast<tenon_delegate*>(kernel);
    *out = reinterpret_cast<tenon_kernel*>(self.lend_to_host(std::move(watched)));
    return status;
  }

  static tenon_status run_kernel(tenon_kernel* kernel, const tenon_execution_context* context) {
    auto& watched = *reinterpret_cast<WatchedDelegate*>(kernel);
    WatchedBackend& self = *watched.backend;
    const tenon_execution_context* shown = self.execution_context_for(watched, *context);
    ++self.kernel_runs;
    return self.watch().status_of("run_kernel", watched.number, [&] {
      return self.extensions().kernels.run_kernel(reinterpret_cast<tenon_kernel*>(watched.theirs),
                                                  shown);
    });
  }

  static void destroy_kernel(tenon_backend* backend, tenon_kernel* kernel) {
    if (!kernel) return;
    WatchedBackend& self = WatchedBackend::of(backend);
    const auto watched = self.take_back(reinterpret_cast<tenon_delegate*>(kernel));
    self.watch().nothing_of("destroy_kernel", watched->number, [&] {
      self.extensions().kernels.destroy_kernel(self.opened(),
                                               reinterpret_cast<tenon_kernel*>(watched->theirs));
    });
  }

  static tenon_status start(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            std::uint32_t num_args) {
    WatchedBackend& self = WatchedBackend::of(backend);
    auto& watched = *reinterpret_cast<WatchedDelegate*>(delegate);
    const tenon_execution_context* shown = self.execution_context_for(watched, *context);
    return self.watch().status_of("start", watched.number, [&] {
      return self.extensions().events.start(self.opened(), watched.theirs, shown, args, num_args);
    });
  }

  static void destroy_event(tenon_backend* backend, tenon_event* event) {
    WatchedBackend& self = WatchedBackend::of(backend);
    self.watch().nothing_of("destroy_event", 0,
                            [&] { self.extensions().events.destroy_event(self.opened(), event); });
  }

  static void release_memory(tenon_backend* backend, tenon_imported_memory* memory) {
    WatchedBackend& self = WatchedBackend::of(backend);
    self.watch().nothing_of("release_memory", 0, [&] {
      self.extensions().external_memory.release_memory(self.opened(), memory);
    });
  }

  static constexpr char create_event[] = "create_event";
  static constexpr char record[] = "record";
  static constexpr char wait[] = "wait";
  static constexpr char query[] = "query";
  static constexpr char wait_on[] = "wait_on";
  static constexpr char on_complete[] = "on_complete";
  static constexpr char export_handle[] = "export_handle";
  static constexpr char import_handle[] = "import_handle";
  static constexpr char list_devices[] = "list_devices";
  static constexpr char list_operators[] = "list_operators";
  static constexpr char list[] = "list";
  static constexpr char set_scheduling[] = "set_scheduling";
  static constexpr char read[] = "read";
  static constexpr char write[] = "write";
  static constexpr char written[] = "written";
  static constexpr char set_option[] = "set_option";
  static constexpr char get_option[] = "get_option";
  static constexpr char partition[] = "partition";
  static constexpr char ops_to_not_decompose[] = "ops_to_not_decompose";
  static constexpr char preprocess[] = "preprocess";
  static constexpr char set_stream[] = "set_stream";
  static constexpr char free_memory[] = "free_memory";
  static constexpr char allocate[] = "allocate";
  static constexpr char copy_to_device[] = "copy_to_device";
  static constexpr char copy_to_host[] = "copy_to_host";
  static constexpr char copy_on[] = "copy_on";
  static constexpr char import_memory[] = "import_memory";
  static constexpr char wait_fence[] = "wait_fence";
  static constexpr char signal_fence[] = "signal_fence";
};

/// Keeps the plugin's table, completed, in `own` and returns `functions` for the host.
template <class Table>
const void* show_table(Table& own, const void* theirs, Table& shown, const Table& functions) {
  own = host::complete_table<Table>(theirs);
  shown = functions;
  return &shown;
}

const void* WatchedExtensions::wrap(ExtensionTables& own, std::string_view id, const void* theirs) {
  using C = ExtensionCalls;
  using W = ExtensionTables;
  if (id == TENON_EXTENSION_CANCEL) {
    using T = tenon_cancel_v1;
    return show_table(own.cancel, theirs, shown_cancel_, T{sizeof(T), 0, &C::cancel});
  }
  if (id == TENON_EXTENSION_CHECK_BLOB) {
    using T = tenon_check_blob_v1;
    return show_table(own.check_blob, theirs, shown_check_blob_, T{sizeof(T), 0, &C::check_blob});
  }
  if (id == TENON_EXTENSION_DEVICE_MEMORY) {
    using T = tenon_device_memory_v1;
    const auto table = host::complete_table<T>(theirs);
    T shown{sizeof(T),
            0,
            &C::of_backend<&W::device_memory, &T::allocate, C::allocate>,
            &C::free_block,
            &C::of_backend<&W::device_memory, &T::copy_to_device, C::copy_to_device>,
            &C::of_backend<&W::device_memory, &T::copy_to_host, C::copy_to_host>,
            &C::of_backend<&W::device_memory, &T::copy_on, C::copy_on>};
    // A host sees which functions the backend leaves out.
    if (!table.copy_on) shown.copy_on = nullptr;
    return show_table(own.device_memory, theirs, shown_device_memory_, shown);
  }
  if (id == TENON_EXTENSION_DEVICES) {
    using T = tenon_devices_v1;
    return show_table(
        own.devices, theirs, shown_devices_,
        T{sizeof(T), 0, &C::of_backend<&W::devices, &T::list_devices, C::list_devices>});
  }
  if (id == TENON_EXTENSION_ESTIMATE) {
    using T = tenon_estimate_v1;
    const auto table = host::complete_table<T>(theirs);
    T shown{sizeof(T), 0, &C::estimate,
            &C::of_backend<&W::estimate, &T::free_memory, C::free_memory>};
    // A host sees which functions the backend leaves out.
    if (!table.estimate) shown.estimate = nullptr;
    if (!table.free_memory) shown.free_memory = nullptr;
    return show_table(own.estimate, theirs, shown_estimate_, shown);
  }
  if (id == TENON_EXTENSION_EVENTS) {
    using T = tenon_events_v1;
    const auto table = host::complete_table<T>(theirs);
    T shown{sizeof(T),
            0,
            table.kind,
            &C::of_backend<&W::events, &T::create_event, C::create_event>,
            &C::start,
            &C::of_delegate<&W::events, &T::record, C::record>,
            &C::of_backend<&W::events, &T::wait, C::wait>,
            &C::of_backend<&W::events, &T::query, C::query>,
            &C::of_delegate<&W::events, &T::wait_on, C::wait_on>,
            &C::of_backend<&W::events, &T::export_handle, C::export_handle>,
            &C::of_backend<&W::events, &T::import_handle, C::import_handle>,
            &C::destroy_event,
            &C::of_backend<&W::events, &T::on_complete, C::on_complete>};
    // A host sees which functions the backend leaves out.
    if (!table.create_event) shown.create_event = nullptr;
    if (!table.start) shown.start = nullptr;
    if (!table.record) shown.record = nullptr;
    if (!table.wait) shown.wait = nullptr;
    if (!table.query) shown.query = nullptr;
    if (!table.wait_on) shown.wait_on = nullptr;
    if (!table.export_handle) shown.export_handle = nullptr;
    if (!table.import_handle) shown.import_handle = nullptr;
    if (!table.destroy_event) shown.destroy_event = nullptr;
    if (!table.on_complete) shown.on_complete = nullptr;
    return show_table(own.events, theirs, shown_events_, shown);
  }
  if (id == TENON_EXTENSION_EXTERNAL_MEMORY) {
    using T = tenon_external_memory_v1;
    const auto table = host::complete_table<T>(theirs);
    T shown{sizeof(T),
            0,
            table.num_memory_kinds,
            table.num_fence_kinds,
            table.memory_kinds,
            table.fence_kinds,
            &C::of_backend<&W::external_memory, &T::import_memory, C::import_memory>,
            &C::release_memory,
            &C::of_delegate<&W::external_memory, &T::wait_fence, C::wait_fence>,
            &C::of_delegate<&W::external_memory, &T::signal_fence, C::signal_fence>};
    // A host sees which functions the backend leaves out.
    if (!table.wait_fence) shown.wait_fence = nullptr;
    if (!table.signal_fence) shown.signal_fence = nullptr;
    return show_table(own.external_memory, theirs, shown_external_memory_, shown);
  }
  if (id == TENON_EXTENSION_INTERMEDIATES) {
    using T = tenon_intermediates_v1;
    return show_table(own.intermediates, theirs, shown_intermediates_,
                      T{sizeof(T), 0, &C::of_delegate<&W::intermediates, &T::list, C::list>,
                        &C::of_delegate<&W::intermediates, &T::record, C::record>});
  }
  if (id == TENON_EXTENSION_KERNELS) {
    using T = tenon_kernels_v1;
    return show_table(
        own.kernels, theirs, shown_kernels_,
        T{sizeof(T), 0, &C::of_backend<&W::kernels, &T::list_operators, C::list_operators>,
          &C::create_kernel, &C::run_kernel, &C::destroy_kernel});
  }
  if (id == TENON_EXTENSION_MEMORY_INFO) {
    using T = tenon_memory_info_v1;
    return show_table(own.memory_info, theirs, shown_memory_info_,
                      T{sizeof(T), 0, &C::memory_info});
  }
  if (id == TENON_EXTENSION_OPTIONS) {
    using T = tenon_options_v1;
    const auto table = host::complete_table<T>(theirs);
    return show_table(own.options, theirs, shown_options_,
                      T{sizeof(T), table.num_specs, table.specs,
                        &C::of_backend<&W::options, &T::set_option, C::set_option>,
                        &C::of_backend<&W::options, &T::get_option, C::get_option>});
  }
  if (id == TENON_EXTENSION_PREPROCESS) {
    using T = tenon_preprocess_v1;
    const auto table = host::complete_table<T>(theirs);
    T shown{sizeof(T), 0, &C::of_backend<&W::preprocess, &T::partition, C::partition>,
            &C::of_backend<&W::preprocess, &T::ops_to_not_decompose, C::ops_to_not_decompose>,
            &C::of_backend<&W::preprocess, &T::preprocess, C::preprocess>};
    // A host sees which functions the backend leaves out.
    if (!table.partition) shown.partition = nullptr;
    if (!table.ops_to_not_decompose) shown.ops_to_not_decompose = nullptr;
    if (!table.preprocess) shown.preprocess = nullptr;
    return show_table(own.preprocess, theirs, shown_preprocess_, shown);
  }
  if (id == TENON_EXTENSION_SCHEDULING) {
    using T = tenon_scheduling_v1;
    const auto table = host::complete_table<T>(theirs);
    T shown{sizeof(T),      0,
            table.priority, table.goal,
            table.power,    &C::of_delegate<&W::scheduling, &T::set_scheduling, C::set_scheduling>};
    // A host sees which functions the backend leaves out.
    if (!table.set_scheduling) shown.set_scheduling = nullptr;
    return show_table(own.scheduling, theirs, shown_scheduling_, shown);
  }
  if (id == TENON_EXTENSION_SEQUENCE) {
    using T = tenon_sequence_v1;
    const auto table = host::complete_table<T>(theirs);
    T shown{sizeof(T),
            0,
            &C::of_delegate<&W::sequence, &T::list, C::list>,
            &C::of_delegate<&W::sequence, &T::read, C::read>,
            &C::of_delegate<&W::sequence, &T::write, C::write>,
            &C::of_delegate<&W::sequence, &T::written, C::written>};
    // A host sees which functions the backend leaves out.
    if (!table.read) shown.read = nullptr;
    if (!table.write) shown.write = nullptr;
    if (!table.written) shown.written = nullptr;
    return show_table(own.sequence, theirs, shown_sequence_, shown);
  }
  if (id == TENON_EXTENSION_SESSIONS) {
    using T = tenon_sessions_v1;
    return show_table(own.sessions, theirs, shown_sessions_, T{sizeof(T), 0, &C::create_session});
  }
  if (id == TENON_EXTENSION_STREAMS) {
    using T = tenon_streams_v1;
    const auto table = host::complete_table<T>(theirs);
    return show_table(
        own.streams, theirs, shown_streams_,
        T{sizeof(T), 0, table.kind, &C::of_delegate<&W::streams, &T::set_stream, C::set_stream>});
  }
  return nullptr;
}

}  // namespace tenon::inline TENON_RELEASE::conformance::detail
