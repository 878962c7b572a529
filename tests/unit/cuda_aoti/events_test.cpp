// SPDX-License-Identifier: MIT
//
// Asynchronous runs and their events. The stand-in does work only when a call waits for it, so what
// is started remains undone until something waits, and reading too early shows old numbers.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app_stream.hpp"
#include "cuda_host.hpp"
#include "support/event_calls.hpp"
#include "support/method_calls.hpp"
#include "tenon/abi/extensions/events.h"

using namespace tenon;
using namespace tenon::test;

namespace {

/// x -> (w, s) by a first delegate, and (w2, s2) by a second one, of x or of the first one's s. All
/// of it is in blocks of the application, or x and s2 are in the host's memory.
struct TwoDelegates {
  static constexpr std::int64_t size = 16;

  TwoDelegates(CudaHost& host, bool is_chain, bool on_host = false)
      : x(host.backend(), 1),
        first_weight(host.backend(), 0),
        first_state(host.backend(), 0),
        second_weight(host.backend(), 0),
        second_state(host.backend(), 0) {
    ProgramBuilder builder;
    const AlignedBytes library = read_file(TENON_TEST_CUDA_MODELS "/copies.so");
    builder.named_data("library_so_blob", builder.segment(library.bytes(), 128));
    builder.named_data("cuda_fqn_weight:cuda:model.w", builder.segment(filled(3, 64), 1));
    builder.named_data("cuda_fqn_weight:cuda:model.s", builder.segment(filled(10, 64), 1));
    PlanBuilder plan = builder.plan("forward");
    const auto on_device = [] { return tagged(tensor(ScalarType::Float, {16})); };
    const std::int32_t input =
        plan.input(on_host ? planned_tensor(ScalarType::Float, {16}, 1, 64) : on_device());
    std::vector<std::int32_t> outputs;
    for (int i = 0; i < 3; ++i) outputs.push_back(plan.output(on_device()));
    plan.buffer(128);
    outputs.push_back(
        plan.output(on_host ? planned_tensor(ScalarType::Float, {16}, 1, 0) : on_device()));
    for (int i = 0; i < 2; ++i) {
      const auto delegate = plan.delegate("CudaBackend", schema::DataLocation::INLINE,
                                          builder.inline_blob(named_weights_payload({})));
      plan.compile_spec(delegate, "target_device", "cuda:0");
      const auto at = static_cast<std::size_t>(2 * i);
      plan.instruction(delegate_call(
          delegate, {i == 1 && is_chain ? outputs[1] : input, outputs[at], outputs[at + 1]}));
    }
    auto bytes = std::make_shared<const AlignedBytes>(builder.build());
    auto program = host::Program::from_bytes(bytes->bytes(), bytes, "two delegates");
    REQUIRE(program.ok());
    host::MethodOptions options;
    options.registry = &host.registry();
    options.layers.add(host::Async(runs.executor()));
    auto loaded = host::Method::load(*std::move(program), "forward", std::move(options));
    INFO(loaded.text());
    REQUIRE(loaded.ok());
    method = *std::move(loaded);
    const host::InputTensor of_host{ScalarType::Float, {&size, 1}, host_x};
    REQUIRE(method->set_input(0, on_host ? of_host : x.input(size)).ok());
    const AppBlock* const blocks[] = {&first_weight, &first_state, &second_weight, &second_state};
    for (std::size_t i = 0; i < 4; ++i) {
      if (on_host && i == 3) continue;
      REQUIRE(method->set_output(i, blocks[i]->bytes(), AppBlock::device).ok());
    }
  }

  void start() {
    const Status status = runs.start(*method);
    INFO(status.text() << misuses());
    REQUIRE(status.ok());
  }
  Status finish() { return runs.finish(); }
  /// A block's first number as it is now, without waiting for anything.
  static float now(const AppBlock& block) {
    float out = 0;
    REQUIRE(cuda().peek(reinterpret_cast<std::uintptr_t>(block.bytes().data()), &out, sizeof out));
    return out;
  }

  std::vector<std::byte> host_x = filled(1, 64);
  AppBlock x;
  AppBlock first_weight, first_state, second_weight, second_state;
  StartedRuns runs;
  std::unique_ptr<host::Method> method;
};

long count_since(long first, std::string_view name) {
  long count = 0;
  for (long i = first; i < cuda().num_calls(); ++i) count += cuda().call(i).name == name;
  return count;
}

/// The streams on which copies within the device were enqueued since `first`, in that order.
std::vector<const void*> copying_streams(long first) {
  std::vector<const void*> out;
  for (long i = first; i < cuda().num_calls(); ++i) {
    const stand_in_cuda::Call call = cuda().call(i);
    if (std::string_view(call.name).starts_with("cuMemcpy") &&
        (out.empty() || out.back() != call.stream)) {
      out.push_back(call.stream);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("two delegates on two streams overlap: the second starts before the first is complete",
          "[cuda][async][TN-EVT-4]") {
  CudaHost host;
  TwoDelegates model(host, false);
  const long before = cuda().num_calls();
  model.start();
  const auto streams = copying_streams(before);
  REQUIRE(streams.size() == 2);
  CHECK(streams[0] != streams[1]);
  CHECK(cuda().num_pending(streams[0]) > 0);
  CHECK(cuda().num_pending(streams[1]) > 0);
  CHECK(count_since(before, "cuStreamSynchronize") == 0);
  CHECK(count_since(before, "cuEventSynchronize") == 0);
  CHECK(count_since(before, "cuStreamWaitEvent") == 0);
  // Reading without waiting is noticed: the numbers are the old ones.
  CHECK(TwoDelegates::now(model.first_weight) == 0.0f);
  CHECK(TwoDelegates::now(model.second_weight) == 0.0f);
  const Status outcome = model.finish();
  INFO(outcome.text() << misuses());
  REQUIRE(outcome.ok());
  CHECK(count_since(before, "cuEventSynchronize") == 2);
  CHECK(TwoDelegates::now(model.first_weight) == 3.0f);
  CHECK(TwoDelegates::now(model.first_state) == 10.0f);
  CHECK(TwoDelegates::now(model.second_weight) == 3.0f);
  CHECK(TwoDelegates::now(model.second_state) == 10.0f);
}

TEST_CASE("a delegate that reads what another writes waits for it on its stream",
          "[cuda][async][TN-EVT-10]") {
  CudaHost host;
  TwoDelegates model(host, true);
  for (const float expected : {10.0f, 10.0f, 1.0f}) {
    const long before = cuda().num_calls();
    model.start();
    CHECK(count_since(before, "cuStreamWaitEvent") == 1);
    CHECK(count_since(before, "cuStreamSynchronize") == 0);
    REQUIRE(model.finish().ok());
    // The state is the input of the run before; the second model's state is two runs behind.
    CHECK(model.second_state.first() == expected);
  }
}

TEST_CASE("copies for the application come after what was started", "[cuda][async][TN-DEV-7]") {
  CudaHost host;
  TwoDelegates model(host, false);
  model.start();
  CHECK(model.first_weight.first() == 3.0f);
  CHECK(model.second_weight.first() == 3.0f);
  CHECK(model.finish().ok());
}

TEST_CASE("a started run copies what is in the host's memory without a wait",
          "[cuda][async][TN-EVT-4][TN-EVT-7]") {
  CudaHost host;
  TwoDelegates model(host, false, true);
  const Tensor<const float> state(*model.method->output(3).as.tensor);
  float expected = 10;  // The state is the input of the run before.
  for (const float x : {1.0f, 2.0f, 3.0f}) {
    model.host_x = filled(x, 64);
    REQUIRE(model.method->set_input(0, {ScalarType::Float, {&model.size, 1}, model.host_x}).ok());
    const float before = state[0];
    const long first = cuda().num_calls();
    model.start();
    CHECK(count_since(first, "cuMemcpyHtoDAsync") == 2);
    CHECK(count_since(first, "cuMemcpyDtoHAsync") == 1);
    CHECK(count_since(first, "cuStreamSynchronize") == 0);
    CHECK(count_since(first, "cuEventSynchronize") == 0);
    CHECK(state[0] == before);
    REQUIRE(model.finish().ok());
    CHECK(state[0] == expected);
    expected = x;
  }
}

TEST_CASE("a failure of the device reaches the completion", "[cuda][async][TN-EVT-8]") {
  CudaHost host;
  TwoDelegates model(host, false);
  model.start();
  long before = cuda().num_calls();
  REQUIRE(model.finish().ok());
  long index = 0;
  while (std::string_view(cuda().call(before + index).name) != "cuEventSynchronize") ++index;
  model.start();
  cuda().fail_at(index, 700);
  const Status failed = model.finish();
  REQUIRE(cuda().failed_call() == std::string_view("cuEventSynchronize"));
  CHECK_FALSE(failed.ok());
  CHECK_THAT(std::string(failed.text()),
             ContainsSubstring("method forward: instruction 0:0: delegate 0 (CudaBackend): wait: "
                               "cuEventSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (700)"));
}

TEST_CASE("a call of the driver that fails in an asynchronous run leaves nothing behind",
          "[cuda][async][TN-EVT-2]") {
  // CudaHost counts what is left on the device.
  for (long index = 0; index < 1000; ++index) {
    CudaHost host;
    TwoDelegates model(host, true);
    INFO("call " << index);
    cuda().fail_at(index, 2);
    const Status started = model.runs.start(*model.method);
    REQUIRE(started.ok());
    const Status outcome = model.finish();
    const bool has_failed = cuda().failed_call() != nullptr;
    cuda().fail_at(-1, 0);
    INFO((has_failed ? cuda().failed_call() : "none"));
    model.start();
    const Status again = model.finish();
    INFO(again.text());
    CHECK(again.ok());
    if (!has_failed) break;
    REQUIRE(index < 999);
  }
}

TEST_CASE("an event is imported without opening another device", "[cuda][async][TN-EVT-11]") {
  CudaHost host({.num_devices = 2});
  const AppDriver app(1);
  void* handle = nullptr;
  REQUIRE(app.in_context("cuEventCreate", &handle, 2u) == 0);
  const auto table = host.backend()->extension<tenon_events_v1>(TENON_EXTENSION_EVENTS);
  REQUIRE(table.has_value());
  tenon_backend* const backend = host.backend()->raw();
  const auto import = [&](bool is_current) {
    if (is_current) app.enter();
    tenon_event* event = nullptr;
    CHECK(table->import_handle(backend, handle, &event) == TENON_STATUS_OK);
    if (is_current) app.leave();
    table->destroy_event(backend, event);
  };
  import(true);  // The caller's device.
  CHECK_FALSE(app.is_open(0));
  import(false);  // The one that is open since.
  CHECK_FALSE(app.is_open(0));
  CHECK(app.in_context("cuEventDestroy_v2", handle) == 0);
}

TEST_CASE("an event of the application is imported by its handle",
          "[cuda][async][TN-EVT-11][TN-EVT-15][TN-EVT-16][TN-EVT-17]") {
  CudaHost host;
  const AppDriver app;
  const AppStream stream;
  const AppBlock to(host.backend(), 1);
  const AppBlock from(host.backend(), 2);
  void* handle = nullptr;
  REQUIRE(app.in_context("cuEventCreate", &handle, 2u) == 0);
  app.copy_on(stream.get(), to.bytes(), from.bytes());
  REQUIRE(app.in_context("cuEventRecord", handle, stream.get()) == 0);
  tenon_backend* const backend = host.backend()->raw();
  const auto table = host.backend()->extension<tenon_events_v1>(TENON_EXTENSION_EVENTS);
  REQUIRE(table.has_value());
  CHECK(std::string_view(table->kind) == TENON_KIND_CUDA_EVENT);
  tenon_event* event = nullptr;
  CHECK(table->import_handle(backend, nullptr, &event) == TENON_STATUS_INVALID_ARGUMENT);
  REQUIRE(table->import_handle(backend, handle, &event) == TENON_STATUS_OK);
  std::uint32_t is_complete = 2;
  REQUIRE(table->query(backend, event, &is_complete) == TENON_STATUS_OK);
  CHECK(is_complete == 0);
  CHECK(table->wait(backend, event, 1'000'000) == TENON_STATUS_TIMED_OUT);
  test::EventCalls calls;
  REQUIRE(table->on_complete(backend, event, &test::EventCalls::add, &calls) == TENON_STATUS_OK);
  CHECK(calls.count() == 0);
  CHECK(table->wait(backend, event, TENON_NO_TIMEOUT) == TENON_STATUS_OK);
  CHECK(table->wait(backend, event, 0) == TENON_STATUS_OK);
  CHECK(calls.wait_for_one());
  CHECK(TwoDelegates::now(to) == 2.0f);
  REQUIRE(table->query(backend, event, &is_complete) == TENON_STATUS_OK);
  CHECK(is_complete == 1);
  void* exported = nullptr;
  REQUIRE(table->export_handle(backend, event, &exported) == TENON_STATUS_OK);
  CHECK(exported == handle);
  table->destroy_event(backend, event);
  CHECK(app.in_context("cuEventDestroy_v2", handle) == 0);  // It is still the application's.
}
