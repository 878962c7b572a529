// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tenon/abi/extensions/events.h"
#include "tenon/backend/context.hpp"
#include "tenon/backend/event_function.hpp"
#include "tenon/backend/mixin.hpp"
#include "tenon/backend/mixins/kernels.hpp"
#include "tenon/backend/text_field.hpp"
#include "tenon/core/args.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// Mixin: runs that are started and not waited for, and events that say when they are done. The
/// author adds
///
///     struct Event { ... };                     // its destructor waits for nothing
///     Result<Event> create_event();             // complete, because it marks nothing yet
///     Status start(ExecutionContext&, Delegate&, Args);
///     Status record_event(Delegate&, Event&);   // from now on: what was started so far
///     Status wait_event(Event&, std::uint64_t timeout_ns);
///     Result<bool> query_event(Event&);         // whether it is complete; does not wait
///     Status wait_on_event(Delegate&, Event&);  // later runs begin after it
///
/// `wait_event` gives the failure of the last run of the event, or success, and TimedOut when the
/// event is not complete in time: TENON_NO_TIMEOUT is no limit, 0 does not wait. A driver without
/// such a wait uses `wait_by_query` of <tenon/backend/event_watcher.hpp>. Optional is
///
///     Status on_event_complete(Event&, EventFunction done);
///
/// which calls `done()` exactly once after the event is complete, failed or not, or fails and never
/// calls it. Until then the host neither records nor destroys the event. `done` calls nothing of
/// the backend and does not wait, so that a driver may call it. A driver that calls no functions
/// uses the `EventWatcher` of that header. Also optional are native handles, which other backends
/// and the application can use, all three of
///
///     static constexpr const char* event_kind = TENON_KIND_CUDA_EVENT;  // abi/native_handle.h
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

namespace detail {

template <class B>
concept HasEvent = requires { typename B::Event; } && std::is_object_v<typename B::Event> &&
                   std::is_move_constructible_v<typename B::Event> &&
                   std::is_nothrow_destructible_v<typename B::Event> && requires(B& backend) {
                     { backend.create_event() } -> std::same_as<Result<typename B::Event>>;
                   };
template <class B>
concept HasStart =
    requires(B& backend, ExecutionContext& context, typename B::Delegate& delegate, Args args) {
      { backend.start(context, delegate, args) } -> std::same_as<Status>;
    };
template <class B>
concept HasEventFunctions =
    requires(B& backend, typename B::Delegate& delegate, typename B::Event& event) {
      { backend.record_event(delegate, event) } -> std::same_as<Status>;
      { backend.wait_event(event, std::uint64_t{}) } -> std::same_as<Status>;
      { backend.query_event(event) } -> std::same_as<Result<bool>>;
      { backend.wait_on_event(delegate, event) } -> std::same_as<Status>;
    };

/// Whether there is a function of that name, with whatever parameters.
template <class B>
concept NamesOnEventComplete = requires { &B::on_event_complete; };
template <class B>
concept HasOnEventComplete = requires(B& backend, typename B::Event& event, EventFunction done) {
  { backend.on_event_complete(event, done) } -> std::same_as<Status>;
};

/// Whether the events have native handles, or any part of them.
template <class B>
concept NamesEventHandles =
    requires { B::event_kind; } || requires { &B::export_event; } || requires { &B::import_event; };
template <class B>
concept HasEventHandles = requires(B& backend, typename B::Event& event, void* handle) {
  typename std::enable_if_t<is_valid_name(std::string_view(B::event_kind))>;
  requires std::same_as<std::remove_cv_t<decltype(B::event_kind)>, const char*>;
  { backend.export_event(event) } -> std::same_as<Result<void*>>;
  { backend.import_event(handle) } -> std::same_as<Result<typename B::Event>>;
};

template <class B>
struct EventsExtension {
  static consteval bool check() {
    if constexpr (HasKernelsAlone<B>) {
      static_assert(always_false<B>,
                    "tenon: WithEvents needs a `Delegate`, `init` and `execute`; kernels alone "
                    "have no events");
    } else if constexpr (!HasEvent<B>) {
      static_assert(
          always_false<B>,
          "tenon: WithEvents needs a public `struct Event`, movable, with a destructor that "
          "does not throw, and `tenon::Result<Event> create_event()`");
    } else if constexpr (!HasStart<B>) {
      static_assert(always_false<B>,
                    "tenon: WithEvents needs a public `tenon::Status "
                    "start(tenon::ExecutionContext&, Delegate&, tenon::Args)`");
    } else if constexpr (!HasEventFunctions<B>) {
      static_assert(
          always_false<B>,
          "tenon: WithEvents needs a public `tenon::Status record_event(Delegate&, Event&)`, "
          "`tenon::Status wait_event(Event&, std::uint64_t timeout_ns)`, `tenon::Result<bool> "
          "query_event(Event&)` and `tenon::Status wait_on_event(Delegate&, Event&)`");
    } else if constexpr (NamesOnEventComplete<B> && !HasOnEventComplete<B>) {
      static_assert(always_false<B>,
                    "tenon: `on_event_complete` of WithEvents is a public `tenon::Status "
                    "on_event_complete(Event&, tenon::EventFunction)`");
    } else if constexpr (NamesEventHandles<B> && !HasEventHandles<B>) {
      static_assert(
          always_false<B>,
          "tenon: native handles of events need a public `static constexpr const char* "
          "event_kind`, `tenon::Result<void*> export_event(Event&)` and `tenon::Result<Event> "
          "import_event(void*)`, all three");
    } else {
      return true;
    }
    return false;
  }

  static tenon_status create_event(tenon_backend* backend, tenon_event** out) noexcept {
    return guard(host_of<B>(backend), [&]() -> Status {
      TENON_TRY(auto event, self<B>(backend).create_event());
      *out = reinterpret_cast<tenon_event*>(new typename B::Event(std::move(event)));
      return ok();
    });
  }

  static tenon_status start(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            std::uint32_t num_args) noexcept {
    return guard(host_of<B>(backend), [&] {
      ExecutionContext execution_context(*context);
      return self<B>(backend).start(execution_context,
                                    *reinterpret_cast<typename B::Delegate*>(delegate),
                                    Args(context->host, args, num_args));
    });
  }

  template <class E = B>
  static typename E::Event& event_of(tenon_event* event) noexcept {
    return *reinterpret_cast<typename E::Event*>(event);
  }

  static tenon_status record_event(tenon_backend* backend, tenon_delegate* delegate,
                                   tenon_event* event) noexcept {
    return guard(host_of<B>(backend), [&] {
      return self<B>(backend).record_event(*reinterpret_cast<typename B::Delegate*>(delegate),
                                           event_of(event));
    });
  }

  static tenon_status wait_event(tenon_backend* backend, tenon_event* event,
                                 std::uint64_t timeout_ns) noexcept {
    return guard(host_of<B>(backend),
                 [&] { return self<B>(backend).wait_event(event_of(event), timeout_ns); });
  }

  static tenon_status query_event(tenon_backend* backend, tenon_event* event,
                                  std::uint32_t* is_complete) noexcept {
    return guard(host_of<B>(backend), [&]() -> Status {
      TENON_TRY(const bool complete, self<B>(backend).query_event(event_of(event)));
      *is_complete = complete ? 1 : 0;
      return ok();
    });
  }

  static tenon_status wait_on_event(tenon_backend* backend, tenon_delegate* delegate,
                                    tenon_event* event) noexcept {
    return guard(host_of<B>(backend), [&] {
      return self<B>(backend).wait_on_event(*reinterpret_cast<typename B::Delegate*>(delegate),
                                            event_of(event));
    });
  }

  static tenon_status export_event(tenon_backend* backend, tenon_event* event,
                                   void** out) noexcept {
    return guard(host_of<B>(backend), [&]() -> Status {
      TENON_TRY(void* const handle, self<B>(backend).export_event(event_of(event)));
      *out = handle;
      return ok();
    });
  }

  static tenon_status import_event(tenon_backend* backend, void* handle,
                                   tenon_event** out) noexcept {
    return guard(host_of<B>(backend), [&]() -> Status {
      if (!handle) {
        return error(Error::InvalidArgument, "backend ", B::id,
                     ": expected the handle of an event, found null (TN-EVT-11)");
      }
      TENON_TRY(auto event, self<B>(backend).import_event(handle));
      *out = reinterpret_cast<tenon_event*>(new typename B::Event(std::move(event)));
      return ok();
    });
  }

  static void destroy_event(tenon_backend*, tenon_event* event) noexcept {
    if (event) delete &event_of(event);
  }

  static tenon_status on_complete(tenon_backend* backend, tenon_event* event,
                                  tenon_event_function function, void* data) noexcept {
    return guard(host_of<B>(backend), [&]() -> Status {
      if (!function) {
        return error(Error::InvalidArgument, "backend ", B::id,
                     ": on_complete: expected a function, found null");
      }
      return self<B>(backend).on_event_complete(event_of(event), EventFunction{function, data});
    });
  }

  static constexpr tenon_events_v1 make_table() {
    tenon_events_v1 out = {sizeof(tenon_events_v1),
                           0,
                           nullptr,
                           &create_event,
                           &start,
                           &record_event,
                           &wait_event,
                           &query_event,
                           &wait_on_event,
                           nullptr,
                           nullptr,
                           &destroy_event,
                           nullptr};
    if constexpr (HasEventHandles<B>) {
      out.kind = B::event_kind;
      out.export_handle = &export_event;
      out.import_handle = &import_event;
    }
    if constexpr (HasOnEventComplete<B>) out.on_complete = &on_complete;
    return out;
  }
  static constexpr tenon_events_v1 table = make_table();
};

template <>
struct MixinOf<tenon_events_v1> : Mixin<WithEvents, EventsExtension> {};

}  // namespace detail
}}  // namespace tenon::TENON_RELEASE
