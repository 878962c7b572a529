// SPDX-License-Identifier: MIT
//
// A host that waits for events of a backend with a limit, and has a function called when they are
// complete.
#include <array>
#include <cstdint>

#include "async_support.hpp"
#include "support/event_calls.hpp"
#include "unit/host/loader/plugin/loaded_backend.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

/// A run of later.cpp on its thread, held until `release`.
class HeldRun {
 public:
  explicit HeldRun(std::string_view blob)
      : backend_(*later_registry().lookup_backend("Later")),
        events_(*backend_->extension<tenon_events_v1>(TENON_EXTENSION_EVENTS)),
        delegate_(backend_, blob) {
    REQUIRE(delegate_.init().ok());
    REQUIRE(events_.create_event(backend_->raw(), &event_) == TENON_STATUS_OK);
    FourFloats program(2);
    const auto x = program.input(0);
    program.call("Later", "copy the tensors", {x, program.output(1)});
    tensors_ = load_ok(program.builder, async_options(queue_.executor()));
    REQUIRE(set_floats(*tensors_, 0, one_to_four, four).ok());
    values_ = {tensors_->input(0), tensors_->output(0)};
    std::array<tenon_value*, 2> args{&values_[0], &values_[1]};
    later_record().hold();
    const Status started = delegate_.start(events_, event_, args.data(), 2);
    INFO(started.text());
    REQUIRE(started.ok());
  }
  HeldRun(const HeldRun&) = delete;
  HeldRun& operator=(const HeldRun&) = delete;
  ~HeldRun() {
    later_record().release();
    destroy_event();
    static_cast<void>(later_record().take());
  }

  tenon_status wait(std::uint64_t timeout_ns) {
    return events_.wait(backend_->raw(), event_, timeout_ns);
  }
  tenon_status on_complete(EventCalls& calls) {
    return events_.on_complete(backend_->raw(), event_, &EventCalls::add, &calls);
  }
  void destroy_event() { events_.destroy_event(backend_->raw(), std::exchange(event_, nullptr)); }
  [[nodiscard]] std::vector<float> output() const { return floats(tensors_->output(0)); }

 private:
  host::BackendRef backend_;
  tenon_events_v1 events_;
  tenon_event* event_ = nullptr;
  TaskQueue queue_;
  std::unique_ptr<host::Method> tensors_;
  std::array<tenon_value, 2> values_{};
  LoadedBlob<host::BackendRef> delegate_;  // Destroyed before its tensors.
};

}  // namespace

TEST_CASE("a wait whose limit passes leaves the run and its event as they were",
          "[async][TN-EVT-15]") {
  HeldRun run("copy a");
  for (const std::uint64_t limit : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2'000'000}}) {
    CHECK(run.wait(limit) == TENON_STATUS_TIMED_OUT);
  }
  later_record().release();
  // A limit that no clock can count to.
  CHECK(run.wait(TENON_NO_TIMEOUT - 1) == TENON_STATUS_OK);
  CHECK(run.output() == std::vector<float>{1, 2, 3, 4});
  CHECK(run.wait(0) == TENON_STATUS_OK);
  CHECK(run.wait(TENON_NO_TIMEOUT) == TENON_STATUS_OK);
}

TEST_CASE("a host's function is called once, when the event is complete",
          "[async][TN-EVT-16][TN-EVT-17][TN-EVT-18][TN-EVT-19]") {
  HeldRun run("copy a");
  EventCalls first, second, late;
  REQUIRE(run.on_complete(first) == TENON_STATUS_OK);
  REQUIRE(run.on_complete(second) == TENON_STATUS_OK);
  CHECK(run.wait(1'000'000) == TENON_STATUS_TIMED_OUT);
  CHECK(first.count() + second.count() == 0);
  later_record().release();
  CHECK(first.wait_for_one());
  CHECK(second.wait_for_one());
  // The thread of the host, not the one that called, asks for the outcome.
  CHECK(run.wait(0) == TENON_STATUS_OK);
  CHECK(run.output() == std::vector<float>{1, 2, 3, 4});
  REQUIRE(run.on_complete(late) == TENON_STATUS_OK);
  CHECK(late.wait_for_one());
  run.destroy_event();
  CHECK(first.count() + second.count() + late.count() == 3);
}

TEST_CASE("a host's function is called for a run that fails, and wait says why",
          "[async][TN-EVT-8][TN-EVT-16]") {
  HeldRun run("fail a");
  EventCalls calls;
  REQUIRE(run.on_complete(calls) == TENON_STATUS_OK);
  later_record().release();
  CHECK(calls.wait_for_one());
  CHECK(run.wait(0) == TENON_STATUS_DELEGATE_INVALID_HANDLE);
}
