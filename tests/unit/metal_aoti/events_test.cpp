// SPDX-License-Identifier: MIT
//
// Runs that are started, and their events. The stand-in is lazy: it works only when the CPU waits,
// so that a wait shows, and so does what is read too early.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "application.hpp"
#include "device/event.hpp"
#include "device/metal_context.hpp"
#include "sum_model.hpp"
#include "support/event_calls.hpp"
#include "support/method_calls.hpp"
#include "tenon/abi/extensions/events.h"

using namespace metal_test;
using tenon::metal_stand_in::control;

namespace events_test {
namespace {

/// y1 = x + 11 and y2 = (x or y1) + 11, by two delegates.
struct TwoDelegates {
  explicit TwoDelegates(bool is_chain) : bytes(program(is_chain)) {
    host::MethodOptions options;
    options.layers.add(host::Async(runs.executor()));
    const auto backend = host.registry().lookup_backend("MetalBackend");
    REQUIRE(backend.ok());
    auto made = host::ImportedMemory::import(*backend, pages.memory());
    REQUIRE(made.ok());
    imported.emplace(*std::move(made));
    auto loaded = metal_test::load(host, bytes.bytes(), std::move(options));
    INFO(loaded.text());
    REQUIRE(loaded.ok());
    method = *std::move(loaded);
    // The first run shows which tensors the models return.
    REQUIRE(run(1).ok());
  }
  static AlignedBytes program(bool is_chain) {
    constexpr auto size = static_cast<std::int32_t>(SumModel::size);
    constexpr std::size_t room = 8192;
    ProgramBuilder builder;
    PlanBuilder plan = builder.plan("forward");
    const auto tensor = [](std::size_t number) {
      return planned_tensor(ScalarType::Float, {size}, 1, number * room);
    };
    const std::int32_t x = plan.input(tensor(0));
    const std::int32_t outputs[] = {plan.output(tensor(1)), plan.output(tensor(2))};
    plan.buffer(3 * room);
    for (std::size_t i = 0; i < 2; ++i) {
      const auto delegate =
          plan.delegate("MetalBackend", schema::DataLocation::INLINE, builder.inline_blob(""));
      plan.instruction(delegate_call(delegate, {i == 1 && is_chain ? outputs[0] : x, outputs[i]}));
    }
    add_mixed_model(builder, "dd", SumModel::size);
    return builder.build();
  }

  void set_input(float value) const {
    std::ranges::fill(std::span(reinterpret_cast<float*>(pages.data()), SumModel::size), value);
    const std::int64_t sizes[] = {SumModel::size};
    REQUIRE(
        method->set_input(0, {ScalarType::Float, sizes, {pages.data(), SumModel::nbytes}}).ok());
  }
  [[nodiscard]] Status start() { return runs.start(*method); }
  Status finish() { return runs.finish(); }
  Status run(float value) {
    set_input(value);
    TENON_RETURN_IF_ERROR(start());
    return finish();
  }
  /// The last number of an output as it is now.
  [[nodiscard]] float now(std::size_t output) const {
    const auto* const data = static_cast<const float*>(method->output(output).as.tensor->dl.data);
    return data[SumModel::size - 1];
  }

  Host host;
  AlignedBytes bytes;
  Pages pages{2};
  std::optional<host::ImportedMemory> imported;
  StartedRuns runs;
  std::unique_ptr<host::Method> method;
};

/// The backend's own part of an instance, with a block.
struct Part {
  Part() {
    const auto device = metal_aoti::system_device();
    REQUIRE(device.ok());
    auto opened = metal_aoti::MetalContext::open(*device, {});
    REQUIRE(opened.ok());
    context = *std::move(opened);
    auto made = (*device)->allocate(64);
    REQUIRE(made.ok());
    block = *made;
    set(0);
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  ~Part() {
    static_cast<void>(context->synchronize());
    context->shared().free(block);
  }
  void set(float value) const { std::memcpy(block, &value, sizeof value); }
  [[nodiscard]] float now() const {
    float out = 0;
    std::memcpy(&out, block, sizeof out);
    return out;
  }
  /// A run that copies the number of another part.
  void start_copy(const Part& from) const {
    REQUIRE(context->copy(aoti::CopyKind::within_device, block, from.block, sizeof(float)).ok());
    REQUIRE(context->leave(metal_aoti::UnfinishedWork::Report::by_event).ok());
  }

  std::shared_ptr<metal_aoti::MetalContext> context;
  std::byte* block = nullptr;
};

}  // namespace

TEST_CASE("two delegates on two queues overlap: the second starts before the first is complete",
          "[metal][queues][async][TN-EVT-4]") {
  TwoDelegates model(false);
  model.set_input(5);
  const LazyDevice lazy;
  const Waits waits;
  const int commits = control().num_commits;
  REQUIRE(model.start().ok());
  CHECK(control().num_commits == commits + 4);  // A run and its event, twice.
  CHECK(waits.count() == 0);
  // Reading without waiting is noticed: the numbers come from the run before.
  CHECK(model.now(0) == 12);
  CHECK(model.now(1) == 12);
  REQUIRE(model.finish().ok());
  CHECK(waits.count() > 0);
  CHECK(model.now(0) == 16);
  CHECK(model.now(1) == 16);
}

TEST_CASE("a delegate that reads what another writes waits for it on its queue",
          "[metal][queues][async][TN-EVT-10]") {
  TwoDelegates model(true);
  for (const float value : {2.0f, 3.0f}) {
    model.set_input(value);
    const LazyDevice lazy;
    const Waits waits;
    REQUIRE(model.start().ok());
    CHECK(waits.count() == 0);
    CHECK(model.now(1) == value - 1 + 22);
    REQUIRE(model.finish().ok());
    CHECK(model.now(0) == value + 11);
    CHECK(model.now(1) == value + 22);
  }
}

TEST_CASE("a started run that fails on the device is reported to its completion, and to no other",
          "[metal][queues][async][TN-EVT-8]") {
  TwoDelegates model(true);
  for (int i = 0; i < 2; ++i) {
    control().fails_next_dispatch = true;
    const Status failed = model.run(2);
    CHECK_FALSE(control().fails_next_dispatch);
    CHECK_THAT(std::string(failed.text()),
               ContainsSubstring("delegate 0 (MetalBackend): wait: ") &&
                   ContainsSubstring("the kernel failed, as requested"));
    model.set_input(3);
    const Status next = i == 0 ? model.run(3) : model.method->execute();
    INFO(next.text());
    CHECK(next.ok());
    CHECK(model.now(1) == 25);
  }
}

TEST_CASE("a call of Metal that fails in an asynchronous run leaves nothing behind",
          "[metal][queues][async][TN-EVT-2]") {
  int num_failures = 0;
  for (int n = 0;; ++n) {
    TwoDelegates model(true);
    INFO("call " << n);
    control().calls_until_failure = n;
    const Status outcome = model.run(2);
    const bool is_through = control().calls_until_failure >= 0;
    control().calls_until_failure = -1;
    num_failures += !outcome.ok();
    const Status again = model.run(3);
    INFO(again.text());
    CHECK(again.ok());
    CHECK(model.now(1) == 25);
    if (is_through) break;
  }
  CHECK(num_failures >= 8);
  CHECK(control().num_queues == 0);
  CHECK(control().num_events == 0);
  CHECK(control().num_buffers == 0);
}

TEST_CASE("started runs in the application's memory follow one another without a wait",
          "[metal][queues][async][TN-EVT-6]") {
  const Part source, part;
  source.set(7);
  const LazyDevice lazy;
  const Waits waits;
  part.start_copy(source);
  const auto first = part.context->mark();
  part.start_copy(source);
  const auto second = part.context->mark();
  REQUIRE((first.ok() && second.ok()));
  CHECK(second->value > first->value);
  CHECK(second->event == first->event);
  CHECK_FALSE(first->is_reached());
  CHECK(waits.count() == 0);
  CHECK(second->wait().ok());
  CHECK(first->is_reached());
  CHECK(part.now() == 7);
}

TEST_CASE("bytes that the CPU copies come after the event that their run waits on",
          "[metal][queues][TN-EVT-10]") {
  const Part source, writer, reader;
  source.set(7);
  writer.set(1);
  const LazyDevice lazy;
  writer.start_copy(source);
  auto written = writer.context->mark();
  REQUIRE(written.ok());
  REQUIRE(reader.context->hold(*written).ok());
  const Waits waits;
  REQUIRE(reader.context->copy(aoti::CopyKind::to_device, reader.block, writer.block, 4).ok());
  CHECK(waits.count() > 0);
  CHECK(reader.now() == 7);
  // An event that was reached holds nothing.
  REQUIRE(reader.context->hold(*written).ok());
  CHECK(reader.context->is_idle());
}

TEST_CASE("work begins after an event that was destroyed or recorded again",
          "[metal][queues][TN-EVT-10][TN-EVT-12]") {
  const Part source, reader;
  source.set(7);
  const LazyDevice lazy;
  {
    const Part writer;
    writer.start_copy(source);
    metal_aoti::Event event;
    REQUIRE(event.record(*writer.context).ok());
    REQUIRE(event.hold(*reader.context).ok());
    CHECK_FALSE(reader.context->is_idle());
    writer.start_copy(source);
    REQUIRE(event.record(*writer.context).ok());
  }
  reader.start_copy(source);
  REQUIRE(reader.context->synchronize().ok());
  CHECK(reader.now() == 7);
}

TEST_CASE("an event's handle is a value of a shared event, for the application and back",
          "[metal][queues][TN-EVT-11][TN-EVT-15][TN-EVT-16][TN-EVT-17]") {
  SumModel sum;
  const auto backend = sum.backend();
  const auto table = backend->extension<tenon_events_v1>(TENON_EXTENSION_EVENTS);
  REQUIRE(table.has_value());
  CHECK(std::string_view(table->kind) == TENON_KIND_METAL_EVENT);
  const auto shared = std::make_shared<metal_stand_in::SharedEvent>();
  tenon_metal_event handle{shared.get(), nullptr, 5};
  tenon_event* event = nullptr;
  CHECK(table->import_handle(backend->raw(), nullptr, &event) == TENON_STATUS_INVALID_ARGUMENT);
  tenon_metal_event nothing{nullptr, nullptr, 5};
  CHECK(table->import_handle(backend->raw(), &nothing, &event) == TENON_STATUS_INVALID_ARGUMENT);
  REQUIRE(table->import_handle(backend->raw(), &handle, &event) == TENON_STATUS_OK);
  handle = {};  // It was copied.
  std::uint32_t is_complete = 2;
  shared->signal(4);
  REQUIRE(table->query(backend->raw(), event, &is_complete) == TENON_STATUS_OK);
  CHECK(is_complete == 0);
  void* exported = nullptr;
  REQUIRE(table->export_handle(backend->raw(), event, &exported) == TENON_STATUS_OK);
  CHECK(static_cast<tenon_metal_event*>(exported)->shared_event == shared.get());
  CHECK(static_cast<tenon_metal_event*>(exported)->value == 5);
  CHECK(table->wait(backend->raw(), event, 1'000'000) == TENON_STATUS_TIMED_OUT);
  test::EventCalls calls;
  REQUIRE(table->on_complete(backend->raw(), event, &test::EventCalls::add, &calls) ==
          TENON_STATUS_OK);
  CHECK(calls.count() == 0);
  shared->signal(6);
  CHECK(table->wait(backend->raw(), event, TENON_NO_TIMEOUT) == TENON_STATUS_OK);
  CHECK(table->wait(backend->raw(), event, 0) == TENON_STATUS_OK);
  CHECK(calls.wait_for_one());
  REQUIRE(table->query(backend->raw(), event, &is_complete) == TENON_STATUS_OK);
  CHECK(is_complete == 1);
  table->destroy_event(backend->raw(), event);
  CHECK(shared.use_count() == 1);

  const Part source, part;
  metal_aoti::Event own;
  CHECK(own.handle() == nullptr);
  CHECK(own.query());
  part.start_copy(source);
  REQUIRE(own.record(*part.context).ok());
  const tenon_metal_event before = *own.handle();
  REQUIRE(own.wait().ok());
  const auto same = metal_aoti::Event::import(before);
  REQUIRE(same.ok());
  CHECK(same->query());
  REQUIRE(own.record(*part.context).ok());
  CHECK(own.handle()->shared_event == before.shared_event);
  CHECK(own.handle()->value > before.value);
  auto others = *std::move(metal_aoti::Event::import(before));
  CHECK(others.record(*part.context).error() == Error::InvalidArgument);
}

TEST_CASE("an application's work on its queue waits for a run's event",
          "[metal][queues][TN-EVT-6]") {
  const Part source, part, result;
  source.set(7);
  const LazyDevice lazy;
  part.start_copy(source);
  metal_aoti::Event event;
  REQUIRE(event.record(*part.context).ok());
  const auto value = event.handle()->value;
  auto* const shared = static_cast<metal_stand_in::SharedEvent*>(event.handle()->shared_event);
  const AppQueue queue;
  const auto done = queue.submit([&] {
    shared->wait(value);
    std::memcpy(result.block, part.block, sizeof(float));
    return ok();
  });
  laziness().wake();
  REQUIRE(done->wait_until_completed().ok());
  CHECK(result.now() == 7);
}

TEST_CASE("runs of several copies of a model are complete when they are started",
          "[metal][queues][async][TN-EVT-4]") {
  SumModel sum;
  const Pages pages(2);
  const auto imported = host::ImportedMemory::import(sum.backend(), pages.memory());
  REQUIRE(imported.ok());
  StartedRuns runs;
  auto options = with_option("model_copies", std::int64_t{2});
  options.layers.add(host::Async(runs.executor()));
  sum.load(std::move(options));
  for (const float value : {1.0f, 2.0f, 3.0f}) {
    sum.set_input(pages.data(), value);
    const LazyDevice lazy;
    REQUIRE(runs.start(*sum.method).ok());
    CHECK(sum.has_output(value + 11));
    CHECK(runs.finish().ok());
  }
}

TEST_CASE("sessions have queues of their own, and their runs overlap", "[metal][queues][async]") {
  TwoDelegates model(false);
  const auto session = model.method->create_session();
  INFO(session.text());
  REQUIRE(session.ok());
  model.method->use_session(session->get());
  REQUIRE(model.run(1).ok());
  model.set_input(4);
  {
    const LazyDevice lazy;
    const Waits waits;
    REQUIRE(model.start().ok());
    CHECK(waits.count() == 0);
    CHECK(model.now(1) == 12);
    REQUIRE(model.finish().ok());
  }
  CHECK(model.now(1) == 15);
  model.method->use_session(nullptr);
  REQUIRE(model.run(5).ok());
  CHECK(model.now(1) == 16);
}

}  // namespace events_test
