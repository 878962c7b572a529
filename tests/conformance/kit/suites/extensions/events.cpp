// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "kit/boundary/watched_backend.hpp"
#include "kit/fixtures/case_method.hpp"
#include "kit/fixtures/live_case.hpp"
#include "kit/suites/suite.hpp"
#include "tenon/conformance/opened_backend.hpp"
#include "tenon/conformance/test.hpp"
#include "tenon/host/layers/async/impl/event_source.hpp"

/// Suite "events": runs that are started and waited for by events (extension "tenon.events/1") are
/// like runs by `execute`.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

TENON_KIT_SUITE(events)

namespace {

/// Ends the test unless the backend offers events and its table can be used.
tenon_events_v1 need_events(Context& kit, OpenedBackend& backend) {
  const auto table = backend.backend().extension<tenon_events_v1>(TENON_EXTENSION_EVENTS);
  if (!table) kit.not_applicable("the backend does not offer " TENON_EXTENSION_EVENTS);
  if (!host::detail::EventSource::is_complete(*table)) {
    kit.blocked("the table of " TENON_EXTENSION_EVENTS " lacks a function");
  }
  return *table;
}

/// An event of the plugin.
class KitEvent {
 public:
  KitEvent(Context& kit, OpenedBackend& backend, const tenon_events_v1& table)
      : kit_(kit), backend_(backend.backend().raw()), table_(table) {
    if (table_.create_event(backend_, &event_) != TENON_STATUS_OK) {
      kit.blocked("create_event gives no event: ", said_error().text);
    }
  }
  KitEvent(const KitEvent&) = delete;
  KitEvent& operator=(const KitEvent&) = delete;
  ~KitEvent() { destroy(); }

  [[nodiscard]] tenon_event* get() const noexcept { return event_; }
  tenon_status wait(std::uint64_t timeout_ns = TENON_NO_TIMEOUT) const {
    return table_.wait(backend_, event_, timeout_ns);
  }
  tenon_status on_complete(tenon_event_function function, void* data) const {
    return table_.on_complete(backend_, event_, function, data);
  }
  [[nodiscard]] bool is_complete() const {
    std::uint32_t complete = 2;
    const tenon_status status = table_.query(backend_, event_, &complete);
    if (status == TENON_STATUS_OK && complete < 2) return complete == 1;
    kit_.violated("TN-EVT-9", "query gives ",
                  status == TENON_STATUS_OK ? "success" : error_name(static_cast<Error>(status)),
                  " and the answer ", complete);
    return false;
  }
  void destroy() noexcept {
    if (event_) table_.destroy_event(backend_, std::exchange(event_, nullptr));
  }

 private:
  Context& kit_;
  tenon_backend* backend_;
  tenon_events_v1 table_;
  tenon_event* event_ = nullptr;
};

/// Counts the calls of a host's function for an event. Kept for ever: a plugin may call it late.
class Called {
 public:
  static Called& make() {
    static std::deque<Called> all;
    return all.emplace_back();
  }
  static void add(void* data) { ++static_cast<Called*>(data)->count_; }
  [[nodiscard]] int count() const noexcept { return count_; }
  /// Whether it is called in 10 s.
  [[nodiscard]] bool wait() const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (count_ == 0 && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return count_ != 0;
  }

 private:
  std::atomic<int> count_ = 0;
};

/// A case whose delegates are started by the test: `run` is called in place of each `execute`.
class EventCase {
 public:
  /// A call of `execute` that the test makes another one of.
  struct Call {
    EventCase& events;
    WatchedExecute& execute;

    [[nodiscard]] tenon_delegate* delegate() const noexcept {
      return reinterpret_cast<tenon_delegate*>(&execute.delegate);
    }
    [[nodiscard]] tenon_status start(std::uint32_t num_args) const {
      Boundary& boundary = execute.boundary;
      return boundary.watched().watch().status_of("start", execute.delegate.number, [&] {
        return boundary.watched().extension<tenon_events_v1>().start(
            boundary.opened(), execute.delegate.theirs, execute.delegate.execution_context.get(),
            execute.args, num_args);
      });
    }
    [[nodiscard]] tenon_status start() const { return start(execute.num_args); }
    [[nodiscard]] tenon_status record(const KitEvent& event) const {
      return events.table.record(events.backend(), delegate(), event.get());
    }
    [[nodiscard]] tenon_status start_and_record(const KitEvent& event) const {
      const tenon_status started = start();
      return started == TENON_STATUS_OK ? record(event) : started;
    }
    /// Does the same as `execute`, by events.
    [[nodiscard]] tenon_status run(const KitEvent& event) const {
      const tenon_status started = start_and_record(event);
      return started == TENON_STATUS_OK ? event.wait() : started;
    }
  };
  using Run = std::function<tenon_status(const Call&)>;

  explicit EventCase(Context& kit)
      : live(kit), table(need_events(kit, live.backend())), kit_(kit) {}

  /// A method whose delegates are run by `run`.
  [[nodiscard]] std::unique_ptr<CaseMethod> load(Run run) {
    live.boundary().on_execute = [this, run = std::move(run)](WatchedExecute& call) {
      return run({*this, call});
    };
    return live.load();
  }
  [[nodiscard]] KitEvent event() { return {kit_, live.backend(), table}; }
  [[nodiscard]] tenon_backend* backend() noexcept { return live.backend().backend().raw(); }

  LiveCase live;
  tenon_events_v1 table;

 private:
  Context& kit_;
};

/// The outputs of each run by `execute`; ends the test when a repetition gives others.
std::vector<std::vector<std::byte>> outputs_by_execute(Context& kit) {
  LiveCase live(kit);
  auto first = live.run(*live.load());
  if (!kit.backend().deterministic || live.run(*live.load()) != first) {
    kit.not_applicable("the outputs differ from load to load");
  }
  return first;
}

/// The outputs by `execute` for later comparisons, after a check that plain runs by events give
/// them, which another test judges.
std::vector<std::vector<std::byte>> need_good_runs(Context& kit) {
  auto expected = outputs_by_execute(kit);
  EventCase events(kit);
  const auto event = events.event();
  const auto method = events.load([&](const EventCase::Call& call) { return call.run(event); });
  method->fill_outputs(std::byte{0x55});
  kit.need(method->execute(method->runs().front()), "a run that is started and waited for");
  if (kit.need(method->output_bytes(), "the outputs") != expected.front()) {
    kit.blocked("a run that is started and waited for gives other outputs than execute");
  }
  return expected;
}

}  // namespace

TENON_CONFORMANCE_TEST("events/table-is-complete", "the table of events is complete",
                       "[events][level-2][backend][TN-EVT-1]") {
  OpenedBackend backend(kit);
  const auto table = backend.backend().extension<tenon_events_v1>(TENON_EXTENSION_EVENTS);
  if (!table) kit.not_applicable("the backend does not offer " TENON_EXTENSION_EVENTS);
  const std::pair<std::string_view, bool> functions[] = {
      {"create_event", table->create_event},
      {"start", table->start},
      {"record", table->record},
      {"wait", table->wait},
      {"query", table->query},
      {"wait_on", table->wait_on},
      {"destroy_event", table->destroy_event},
  };
  for (const auto& [name, is_there] : functions) {
    kit.expect("TN-EVT-1", is_there, "the table has no `", name, "`");
  }
  kit.expect("TN-EVT-1",
             (table->kind != nullptr) == (table->export_handle != nullptr) &&
                 (table->kind != nullptr) == (table->import_handle != nullptr),
             "kind is ", table->kind ? table->kind : "NULL", ", export_handle is ",
             table->export_handle ? "there" : "NULL", ", import_handle is ",
             table->import_handle ? "there" : "NULL");
}

TENON_CONFORMANCE_TEST("events/unrecorded-is-complete",
                       "an event that was not recorded is complete",
                       "[events][level-3][backend][TN-EVT-9][TN-EVT-11][TN-EVT-15]") {
  OpenedBackend backend(kit);
  const tenon_events_v1 table = need_events(kit, backend);
  need_device(kit, backend);
  const KitEvent event(kit, backend, table);
  kit.expect("TN-EVT-9", event.is_complete(), "query reports a new event as not complete");
  kit.expect("TN-EVT-9", event.wait() == TENON_STATUS_OK,
             "wait for a new event fails: ", said_error().text);
  kit.expect("TN-EVT-15", event.wait(0) == TENON_STATUS_OK,
             "wait of 0 ns for a new event, which is complete, fails: ", said_error().text);
  table.destroy_event(backend.backend().raw(), nullptr);
  if (!table.import_handle) return;
  tenon_event* imported = nullptr;
  const tenon_status status = table.import_handle(backend.backend().raw(), nullptr, &imported);
  kit.expect("TN-EVT-11", status == TENON_STATUS_INVALID_ARGUMENT,
             "import_handle of NULL: expected InvalidArgument, found ",
             status == TENON_STATUS_OK ? "success" : error_name(static_cast<Error>(status)));
  if (status == TENON_STATUS_OK) table.destroy_event(backend.backend().raw(), imported);
}

TENON_CONFORMANCE_TEST("events/start-matches-execute",
                       "a run that is started and waited for gives what execute gives",
                       "[events][level-3][case][TN-EVT-3][TN-EVT-4][TN-EVT-6][TN-EVT-9]") {
  const auto expected = outputs_by_execute(kit);
  EventCase events(kit);
  const auto event = events.event();
  const auto method = events.load([&](const EventCase::Call& call) {
    const tenon_status started = call.start_and_record(event);
    if (started != TENON_STATUS_OK) return started;
    std::vector<std::uint64_t> sizes;
    const std::span args(call.execute.args, call.execute.num_args);
    for (const tenon_value* arg : args) {
      if (arg->kind == TENON_VALUE_TENSOR) sizes.push_back(arg->as.tensor->nbytes);
    }
    const tenon_status done = event.wait();
    if (done == TENON_STATUS_OK) {
      kit.expect("TN-EVT-9", event.is_complete(),
                 "wait has returned, and query reports the event "
                 "as not complete");
    }
    std::size_t at = 0;
    for (const tenon_value* arg : args) {
      if (arg->kind != TENON_VALUE_TENSOR) continue;
      kit.expect("TN-EVT-3", arg->as.tensor->nbytes == sizes[at++],
                 "a tensor got its sizes after start had returned");
    }
    return done;
  });
  std::size_t number = 0;
  for (const CaseRun* run : events.live.runs()) {
    method->fill_outputs(std::byte{0x55});
    const Status outcome = method->execute(*run);
    if (!kit.expect("TN-EVT-6", outcome.ok(), "run ", number + 1,
                    " fails where execute succeeds: ", outcome.text())) {
      return;
    }
    const auto found = kit.need(method->output_bytes(), "the outputs");
    kit.expect("TN-EVT-4", found == expected[number], "when wait returns, the outputs of run ",
               number + 1, " differ from the outputs of execute");
    ++number;
  }
}

TENON_CONFORMANCE_TEST("events/wait-has-a-limit",
                       "a wait whose limit passes leaves the event as it was",
                       "[events][level-3][case][TN-EVT-15]") {
  const auto expected = need_good_runs(kit);
  EventCase events(kit);
  const auto event = events.event();
  const auto method = events.load([&](const EventCase::Call& call) {
    const tenon_status started = call.start_and_record(event);
    if (started != TENON_STATUS_OK) return started;
    for (const std::uint64_t limit : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{100'000}}) {
      const tenon_status waited = event.wait(limit);
      kit.expect("TN-EVT-15", waited == TENON_STATUS_OK || waited == TENON_STATUS_TIMED_OUT,
                 "wait of ", limit, " ns gives ", error_name(static_cast<Error>(waited)),
                 ", expected success or TimedOut: ", said_error().text);
    }
    const tenon_status done = event.wait();
    kit.expect("TN-EVT-15", done != TENON_STATUS_TIMED_OUT, "wait without a limit gives TimedOut");
    const tenon_status again = event.wait(0);
    kit.expect("TN-EVT-15", again == done, "wait of 0 ns for an event that is complete gives ",
               again == TENON_STATUS_OK ? "success" : error_name(static_cast<Error>(again)));
    return done;
  });
  method->fill_outputs(std::byte{0x55});
  const Status outcome = method->execute(method->runs().front());
  if (!kit.expect("TN-EVT-15", outcome.ok(),
                  "after waits with limits a run fails: ", outcome.text())) {
    return;
  }
  kit.expect("TN-EVT-15", kit.need(method->output_bytes(), "the outputs") == expected.front(),
             "after waits with limits, one without returns before the outputs are complete");
}

TENON_CONFORMANCE_TEST("events/calls-when-complete",
                       "a host's function is called once, when the event is complete",
                       "[events][level-3][case][TN-EVT-16][TN-EVT-17]") {
  static_cast<void>(need_good_runs(kit));
  EventCase events(kit);
  if (!events.table.on_complete) kit.not_applicable("the backend has no on_complete");
  const auto event = events.event();
  Called& of_unrecorded = Called::make();
  Called& of_run = Called::make();
  Called& of_complete = Called::make();
  const auto ask = [&](Called& called) {
    if (event.on_complete(&Called::add, &called) != TENON_STATUS_OK) {
      kit.blocked("on_complete fails: ", said_error().text);
    }
  };
  const auto expect_one = [&](const Called& called, std::string_view what) {
    kit.expect("TN-EVT-16", called.wait(), what, ": the function is not called in 10 s");
  };
  ask(of_unrecorded);
  expect_one(of_unrecorded, "a new event");
  bool is_first = true;
  const auto method = events.load([&](const EventCase::Call& call) {
    const tenon_status started = call.start_and_record(event);
    if (started != TENON_STATUS_OK || !std::exchange(is_first, false)) {
      return started == TENON_STATUS_OK ? event.wait() : started;
    }
    ask(of_run);
    if (of_run.count() != 0) {
      kit.expect("TN-EVT-17", event.is_complete(),
                 "the function is called before the event is complete");
    }
    const tenon_status done = event.wait();
    expect_one(of_run, "a run that was waited for");
    ask(of_complete);
    expect_one(of_complete, "an event that is complete");
    return done;
  });
  static_cast<void>(method->execute(method->runs().front()));
  if (is_first) kit.not_applicable("the case calls no delegate");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  for (const Called* called : {&of_unrecorded, &of_run, &of_complete}) {
    kit.expect("TN-EVT-16", called->count() <= 1, "the function of one on_complete is called ",
               called->count(), " times");
  }
}

TENON_CONFORMANCE_TEST("events/leaves-arguments-when-complete",
                       "the arguments of a run that is complete are left alone",
                       "[events][level-3][case][TN-EVT-5]") {
  static_cast<void>(need_good_runs(kit));
  EventCase events(kit);
  const auto event = events.event();
  const auto method = events.load([&](const EventCase::Call& call) { return call.run(event); });
  kit.need(method->execute(method->runs().front()), "a run of the case");
  method->fill_outputs(std::byte{0x55});
  const auto before = kit.need(method->output_bytes(), "the outputs");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  kit.expect("TN-EVT-5", kit.need(method->output_bytes(), "the outputs") == before,
             "an output was written after its event was complete");
}

TENON_CONFORMANCE_TEST("events/reports-failed-run",
                       "a run that fails is reported by start or by each wait",
                       "[events][level-3][case][TN-EVT-2][TN-EVT-8]") {
  const auto expected = need_good_runs(kit);
  EventCase events(kit);
  const auto event = events.event();
  bool is_good = false;
  const auto method = events.load([&](const EventCase::Call& call) {
    if (is_good) return call.run(event);
    const tenon_status started = call.start(call.execute.num_args - 1);
    const tenon_status recorded = call.record(event);
    if (recorded != TENON_STATUS_OK) kit.blocked("record fails: ", said_error().text);
    const tenon_status first = event.wait();
    if (started != TENON_STATUS_OK) return started;
    if (!kit.expect("TN-EVT-8", first != TENON_STATUS_OK,
                    "a run with an argument too few: start and wait succeed")) {
      return tenon_status{TENON_STATUS_INTERNAL};
    }
    kit.expect("TN-EVT-8", said_error().said, "wait fails without a text");
    const tenon_status again = event.wait();
    kit.expect("TN-EVT-8", again == first, "the first wait for a run that failed gives ",
               error_name(static_cast<Error>(first)), ", the second one ",
               again == TENON_STATUS_OK ? "success" : error_name(static_cast<Error>(again)));
    kit.expect("TN-EVT-9", event.is_complete(), "a run that failed is not complete");
    return first;
  });
  static_cast<void>(method->execute(method->runs().front()));
  if (!kit.findings().empty()) return;
  is_good = true;
  const Status outcome = method->execute(method->runs().front());
  kit.expect("TN-EVT-8",
             outcome.ok() && kit.need(method->output_bytes(), "the outputs") == expected.front(),
             "after a run that failed, a good one fails or gives other outputs: ", outcome.text());
}

TENON_CONFORMANCE_TEST("events/destroyed-before-completion",
                       "an event may be destroyed before its run is complete",
                       "[events][level-3][case][TN-EVT-12]") {
  const auto expected = need_good_runs(kit);
  EventCase events(kit);
  const auto method = events.load([&](const EventCase::Call& call) {
    auto brief = events.event();
    const tenon_status started = call.start_and_record(brief);
    brief.destroy();
    if (started != TENON_STATUS_OK) return started;
    const auto event = events.event();
    const tenon_status recorded = call.record(event);
    return recorded == TENON_STATUS_OK ? event.wait() : recorded;
  });
  method->fill_outputs(std::byte{0x55});
  const Status outcome = method->execute(method->runs().front());
  kit.expect("TN-EVT-12", outcome.ok(),
             "after its event was destroyed, a run fails: ", outcome.text());
  if (!outcome.ok()) return;
  kit.expect("TN-EVT-12", kit.need(method->output_bytes(), "the outputs") == expected.front(),
             "after its event was destroyed, a run gives other outputs");
}

TENON_CONFORMANCE_TEST("events/waits-on-event",
                       "a run begins after the event that its delegate waits on",
                       "[events][level-3][case][TN-EVT-10]") {
  static_cast<void>(need_good_runs(kit));
  EventCase events(kit);
  auto named = events.event();
  const auto copy = events.event();
  const auto last = events.event();
  bool is_second = false;
  int calls = 0;
  const auto run = [&](const EventCase::Call& call) {
    if (!is_second) {
      const tenon_status started = call.start_and_record(named);
      return started == TENON_STATUS_OK ? call.record(copy) : started;
    }
    if (++calls == 1) {
      const tenon_status waits =
          events.table.wait_on(events.backend(), call.delegate(), named.get());
      if (waits != TENON_STATUS_OK) kit.blocked("wait_on fails: ", said_error().text);
      named.destroy();
    }
    return call.run(last);
  };
  // Both are there before the first one starts, so that the second one follows at once.
  const auto first = events.load(run);
  const auto second = events.load(run);
  kit.need(first->execute(first->runs().front()), "a run of the case");
  is_second = true;
  kit.need(second->execute(second->runs().front()), "a run of the case");
  if (calls == 0) kit.not_applicable("the case calls no delegate");
  kit.expect("TN-EVT-10", copy.is_complete(),
             "a run is complete before the one whose event it was to wait on");
}

TENON_CONFORMANCE_TEST("events/destroy-waits-for-run", "destroying a delegate waits for its run",
                       "[events][level-3][case][TN-EVT-14]") {
  static_cast<void>(need_good_runs(kit));
  EventCase events(kit);
  const auto event = events.event();
  auto method =
      events.load([&](const EventCase::Call& call) { return call.start_and_record(event); });
  kit.need(method->execute(method->runs().front()), "a run of the case");
  method.reset();
  kit.expect("TN-EVT-14", event.is_complete(),
             "destroy of a delegate returned before its run was complete");
}

TENON_CONFORMANCE_TEST("events/imports-handle", "an event is imported by its handle",
                       "[events][level-4][case][TN-EVT-6]") {
  EventCase events(kit);
  if (!events.table.kind) kit.not_applicable("the events have no handles");
  const auto event = events.event();
  const auto method = events.load([&](const EventCase::Call& call) {
    const tenon_status started = call.start_and_record(event);
    if (started != TENON_STATUS_OK) return started;
    void* handle = nullptr;
    tenon_event* imported = nullptr;
    tenon_backend* const backend = events.backend();
    if (events.table.export_handle(backend, event.get(), &handle) != TENON_STATUS_OK ||
        events.table.import_handle(backend, handle, &imported) != TENON_STATUS_OK) {
      kit.violated("TN-EVT-6", "export_handle or import_handle fails: ", said_error().text);
      return event.wait();
    }
    const tenon_status waited = events.table.wait(backend, imported, TENON_NO_TIMEOUT);
    events.table.destroy_event(backend, imported);
    kit.expect("TN-EVT-6", waited == TENON_STATUS_OK && event.is_complete(),
               "after wait for an imported event, the event itself is not complete");
    return event.wait();
  });
  kit.need(method->execute(method->runs().front()), "a run of the case");
}

}}}  // namespace tenon::TENON_RELEASE::conformance
