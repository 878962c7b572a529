// SPDX-License-Identifier: MIT
#include <tenon/abi/static_plugin.h>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tenon/tenon.hpp>
#include <utility>

#include "support/catch.hpp"
#include "support/idle_backend.hpp"
#include "unit/backend/fake_host.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

/// Events whose handles are numbers, which a test sets.
class Timely final : public Backend<Timely>, public IdleDelegates, public WithEvents<Timely> {
 public:
  static constexpr std::string_view id = "TimelyBackend";
  struct Event {
    explicit Event(int of) : number(of) { ++live; }
    Event(Event&& other) noexcept : number(other.number) { ++live; }
    Event& operator=(Event&&) = delete;
    ~Event() { --live; }
    int number;
  };

  Result<Event> create_event() {
    if (fails == "create") throw std::bad_alloc();
    return Event(0);
  }
  Status start(ExecutionContext&, Delegate&, Args args) { return args.expect(1); }
  Status record_event(Delegate&, Event& event) {
    event.number = 7;
    return ok();
  }
  Status wait_event(Event& event, std::uint64_t timeout_ns) {
    if (timeout_ns != TENON_NO_TIMEOUT) return error(Error::TimedOut, timeout_ns, " ns");
    if (fails == "wait") throw std::runtime_error("the run failed");
    return event.number == 0 ? ok() : error(Error::EndOfMethod, "run ", event.number);
  }
  Result<bool> query_event(Event& event) { return event.number == 0; }
  Status wait_on_event(Delegate&, Event& event) {
    return error(Error::NotSupported, "event ", event.number);
  }

  Status on_event_complete(Event& event, EventFunction done) {
    if (event.number == 13) return error(Error::OutOfResources, "unlucky");
    done();
    return ok();
  }

  static constexpr const char* event_kind = "acme.number";
  Result<void*> export_event(Event& event) { return static_cast<void*>(&event.number); }
  Result<Event> import_event(void* handle) { return Event(*static_cast<int*>(handle)); }

  static inline int live = 0;
  static inline std::string_view fails;
};

class Timeless final : public Backend<Timeless>, public IdleDelegates {
 public:
  static constexpr std::string_view id = "TimelessBackend";
};

}  // namespace

TENON_PLUGIN(Timely, Timeless);

namespace {

const LinkedPlugin plugin(tenon_static_plugin_Timely);

struct Opened {
  FakeHost host;
  OpenedBackend opened{plugin.api(), host};
  tenon_backend* backend = opened.backend;
  const tenon_events_v1& events = *opened.extension<tenon_events_v1>(TENON_EXTENSION_EVENTS);
};

}  // namespace

TEST_CASE("events are an extension of backends with their mixin only", "[backend][TN-EVT-1]") {
  const Opened timely;
  const FakeHost host;
  const OpenedBackend timeless(plugin.api(1), host);
  CHECK(timeless.extension<void>(TENON_EXTENSION_EVENTS) == nullptr);
  CHECK(timely.events.struct_size == sizeof(tenon_events_v1));
  CHECK(std::string_view(timely.events.kind) == "acme.number");
  CHECK(timely.events.export_handle != nullptr);
  CHECK(timely.events.import_handle != nullptr);
}

TEST_CASE("an event lives from create or import to destroy", "[backend][TN-EVT-9][TN-EVT-11]") {
  const Opened timely;
  tenon_event* event = nullptr;
  REQUIRE(timely.events.create_event(timely.backend, &event) == TENON_STATUS_OK);
  CHECK(Timely::live == 1);
  std::uint32_t is_complete = 2;
  REQUIRE(timely.events.query(timely.backend, event, &is_complete) == TENON_STATUS_OK);
  CHECK(is_complete == 1);
  CHECK(timely.events.wait(timely.backend, event, TENON_NO_TIMEOUT) == TENON_STATUS_OK);
  Timely::Delegate delegate;
  auto* const raw = reinterpret_cast<tenon_delegate*>(&delegate);
  REQUIRE(timely.events.record(timely.backend, raw, event) == TENON_STATUS_OK);
  REQUIRE(timely.events.query(timely.backend, event, &is_complete) == TENON_STATUS_OK);
  CHECK(is_complete == 0);

  void* handle = nullptr;
  REQUIRE(timely.events.export_handle(timely.backend, event, &handle) == TENON_STATUS_OK);
  tenon_event* imported = nullptr;
  REQUIRE(timely.events.import_handle(timely.backend, handle, &imported) == TENON_STATUS_OK);
  CHECK(Timely::live == 2);
  CHECK(timely.events.wait(timely.backend, imported, TENON_NO_TIMEOUT) ==
        TENON_STATUS_END_OF_METHOD);
  CHECK(timely.host.last_text == "run 7");
  CHECK(timely.events.wait_on(timely.backend, raw, imported) == TENON_STATUS_NOT_SUPPORTED);
  CHECK(timely.host.last_text == "event 7");

  tenon_event* none = nullptr;
  CHECK(timely.events.import_handle(timely.backend, nullptr, &none) ==
        TENON_STATUS_INVALID_ARGUMENT);
  CHECK(timely.host.last_text ==
        "backend TimelyBackend: expected the handle of an event, found null (TN-EVT-11)");
  timely.events.destroy_event(timely.backend, imported);
  timely.events.destroy_event(timely.backend, event);
  timely.events.destroy_event(timely.backend, nullptr);
  CHECK(Timely::live == 0);
}

TEST_CASE("exceptions in functions of events are failures", "[backend][TN-BCK-1]") {
  const Opened timely;
  tenon_event* event = nullptr;
  Timely::fails = "create";
  CHECK(timely.events.create_event(timely.backend, &event) ==
        TENON_STATUS_MEMORY_ALLOCATION_FAILED);
  CHECK(event == nullptr);
  CHECK(Timely::live == 0);
  Timely::fails = "wait";
  REQUIRE(timely.events.create_event(timely.backend, &event) == TENON_STATUS_OK);
  CHECK(timely.events.wait(timely.backend, event, TENON_NO_TIMEOUT) == TENON_STATUS_INTERNAL);
  CHECK(timely.host.last_text == "the run failed");
  timely.events.destroy_event(timely.backend, event);
  Timely::fails = "";
  CHECK(Timely::live == 0);
}

TEST_CASE("the limit of a wait reaches the author", "[backend][TN-EVT-15]") {
  const Opened timely;
  tenon_event* event = nullptr;
  REQUIRE(timely.events.create_event(timely.backend, &event) == TENON_STATUS_OK);
  CHECK(timely.events.wait(timely.backend, event, 42) == TENON_STATUS_TIMED_OUT);
  CHECK(timely.host.last_text == "42 ns");
  timely.events.destroy_event(timely.backend, event);
}

TEST_CASE("a host's function is called by the author, or refused", "[backend][TN-EVT-16]") {
  const Opened timely;
  REQUIRE(timely.events.on_complete != nullptr);
  tenon_event* event = nullptr;
  int number = 0, calls = 0;
  const auto count = [](void* data) { ++*static_cast<int*>(data); };
  REQUIRE(timely.events.import_handle(timely.backend, &number, &event) == TENON_STATUS_OK);
  CHECK(timely.events.on_complete(timely.backend, event, count, &calls) == TENON_STATUS_OK);
  CHECK(calls == 1);
  CHECK(timely.events.on_complete(timely.backend, event, nullptr, &calls) ==
        TENON_STATUS_INVALID_ARGUMENT);
  CHECK(timely.host.last_text ==
        "backend TimelyBackend: on_complete: expected a function, found null");
  timely.events.destroy_event(timely.backend, event);
  number = 13;
  REQUIRE(timely.events.import_handle(timely.backend, &number, &event) == TENON_STATUS_OK);
  CHECK(timely.events.on_complete(timely.backend, event, count, &calls) ==
        TENON_STATUS_OUT_OF_RESOURCES);
  CHECK(calls == 1);
  timely.events.destroy_event(timely.backend, event);
}
