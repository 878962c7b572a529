// SPDX-License-Identifier: MIT
#include "kit/boundary/extensions.hpp"

#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tenon/host/loader/plugin/backend_api.hpp"
#include "tenon/host/loader/plugin/plugin_record.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance::detail {

/// The sink of a host behind a sink that judges each use of memory by `rule`.
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
    const auto whole = host::complete_table<tenon_memory_use>(use);
    if (!whole.kind || *whole.kind == '\0') {
      seen.watch.violated(seen.rule, seen.function, " gave its sink a use of ", whole.nbytes,
                          " bytes without a kind");
    } else if (const Status text = host::detail::check_text(whole.kind, "its kind"); !text.ok()) {
      seen.watch.violated(seen.rule, seen.function, " gave its sink a use of ", whole.nbytes,
                          " bytes: ", text.text());
    }
    seen.sink(seen.context, use);
  }
};

/// Calls the plugin's own `Function` with `arguments`, watched as a call for `delegate`, which is 0
/// for a call about the backend as a whole.
template <class Function, class... Arguments>
auto watch_call(WatchedBackend& self, std::uint32_t delegate, Arguments... arguments) {
  const auto call = [&] {
    const auto& own = self.extension<typename Function::Table>();
    return (own.*Function::member)(self.opened(), arguments...);
  };
  if constexpr (std::is_void_v<decltype(call())>) {
    self.watch().nothing_of(Function::name, delegate, call);
  } else {
    static_assert(std::is_same_v<decltype(call()), tenon_status>, "the function needs one by hand");
    return self.watch().status_of(Function::name, delegate, call);
  }
}

/// The function that a host calls in place of one of the plugin. Undefined for a function that is
/// about another object than a backend or a delegate: that needs one by hand.
template <class Function, class Type = typename Function::Type>
struct WatchedFunction;

template <class Function, class Result, class... Arguments>
struct WatchedFunction<Function, Result(TENON_CALL*)(tenon_backend*, Arguments...)> {
  static Result call(tenon_backend* backend, Arguments... arguments) {
    return watch_call<Function>(WatchedBackend::of(backend), 0, arguments...);
  }
};

template <class Function, class Result, class... Arguments>
struct WatchedFunction<Function,
                       Result(TENON_CALL*)(tenon_backend*, tenon_delegate*, Arguments...)> {
  static Result call(tenon_backend* backend, tenon_delegate* delegate, Arguments... arguments) {
    const auto& watched = *reinterpret_cast<const WatchedDelegate*>(delegate);
    return watch_call<Function>(WatchedBackend::of(backend), watched.number, watched.theirs,
                                arguments...);
  }
};

/// Functions that do more than to pass on their arguments: they show or keep objects of the kit, or
/// judge what they are given. `by_hand` below lists them.
struct ByHand {
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
        return self.extension<tenon_check_blob_v1>().check_blob(self.opened(), shown, verdict);
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
        return self.extension<tenon_estimate_v1>().estimate(self.opened(), shown, &SeenUses::take,
                                                            &seen);
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
      return self.extension<tenon_memory_info_v1>().memory_info(
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
      return self.extension<tenon_sessions_v1>().create_session(self.opened(), watched->theirs,
                                                                &shown, &session->theirs);
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
      return self.extension<tenon_kernels_v1>().create_kernel(self.opened(), context, &kernel);
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
      return self.extension<tenon_kernels_v1>().run_kernel(
          reinterpret_cast<tenon_kernel*>(watched.theirs), shown);
    });
  }

  static void destroy_kernel(tenon_backend* backend, tenon_kernel* kernel) {
    if (!kernel) return;
    WatchedBackend& self = WatchedBackend::of(backend);
    const auto watched = self.take_back(reinterpret_cast<tenon_delegate*>(kernel));
    self.watch().nothing_of("destroy_kernel", watched->number, [&] {
      self.extension<tenon_kernels_v1>().destroy_kernel(
          self.opened(), reinterpret_cast<tenon_kernel*>(watched->theirs));
    });
  }

  static tenon_status start(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            std::uint32_t num_args) {
    WatchedBackend& self = WatchedBackend::of(backend);
    auto& watched = *reinterpret_cast<WatchedDelegate*>(delegate);
    const tenon_execution_context* shown = self.execution_context_for(watched, *context);
    return self.watch().status_of("start", watched.number, [&] {
      return self.extension<tenon_events_v1>().start(self.opened(), watched.theirs, shown, args,
                                                     num_args);
    });
  }
};

/// The function of `ByHand` for a member of a table; null where `WatchedFunction` is enough.
template <auto Member>
inline constexpr auto by_hand = nullptr;
template <>
inline constexpr auto by_hand<&tenon_check_blob_v1::check_blob> = &ByHand::check_blob;
template <>
inline constexpr auto by_hand<&tenon_estimate_v1::estimate> = &ByHand::estimate;
template <>
inline constexpr auto by_hand<&tenon_memory_info_v1::memory_info> = &ByHand::memory_info;
template <>
inline constexpr auto by_hand<&tenon_sessions_v1::create_session> = &ByHand::create_session;
template <>
inline constexpr auto by_hand<&tenon_kernels_v1::create_kernel> = &ByHand::create_kernel;
template <>
inline constexpr auto by_hand<&tenon_kernels_v1::run_kernel> = &ByHand::run_kernel;
template <>
inline constexpr auto by_hand<&tenon_kernels_v1::destroy_kernel> = &ByHand::destroy_kernel;
template <>
inline constexpr auto by_hand<&tenon_events_v1::start> = &ByHand::start;

/// Whether a host is shown the extension. Exporters alone ask for "tenon.aoti_export/1".
template <class Table>
inline constexpr bool is_shown = true;
template <>
inline constexpr bool is_shown<tenon_aoti_export_v1> = false;

/// Whether a function that the table must have is null for a host when the plugin leaves it out:
/// tests look for it. In other tables the call itself faults, inside of the plugin.
template <class Table>
inline constexpr bool shows_what_is_missing = false;
template <>
inline constexpr bool shows_what_is_missing<tenon_estimate_v1> = true;
template <>
inline constexpr bool shows_what_is_missing<tenon_events_v1> = true;
template <>
inline constexpr bool shows_what_is_missing<tenon_preprocess_v1> = true;

/// Puts the function for a host in place of the plugin's own.
template <class Function, class Table>
void show_function(Table& table) {
  auto& function = table.*Function::member;
  constexpr auto hand = by_hand<Function::member>;
  if ((Function::may_be_null || shows_what_is_missing<Table>) && !function) return;
  if constexpr (hand == nullptr) {
    function = &WatchedFunction<Function>::call;
  } else {
    function = hand;
  }
}

/// The table for a host, for the plugin's own one: the same data, and functions that are watched.
template <class Table, class... Functions>
Table shown_table(Table table, TypeList<Functions...>) {
  if constexpr (requires { table.reserved; }) table.reserved = 0;
  (show_function<Functions>(table), ...);
  return table;
}

template <class Table>
const void* wrap_table(WatchedBackend& backend, const void* theirs, Table& shown) {
  Table& own = backend.extension<Table>();
  own = host::complete_table<Table>(theirs);
  shown = shown_table(own, typename BackendExtension<Table>::Functions());
  return &shown;
}

const void* WatchedExtensions::wrap(WatchedBackend& backend, std::string_view id,
                                    const void* theirs) {
  const void* out = nullptr;
  const auto wrap_if_it_is = [&]<class Table>(Table& shown) {
    if constexpr (is_shown<Table>) {
      if (id == BackendExtension<Table>::id) out = wrap_table(backend, theirs, shown);
    }
  };
  std::apply([&](auto&... shown) { (wrap_if_it_is(shown), ...); }, shown_);
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::conformance::detail
