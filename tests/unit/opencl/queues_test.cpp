// SPDX-License-Identifier: MIT
//
// Delegates on two queues of the driver, with events between them; and a queue of the application.
#include <algorithm>
#include <array>
#include <cstdint>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "opencl_host.hpp"
#include "tenon/abi/extensions/events.h"
#include "tenon/host/async.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

/// A function of the driver.
template <class Function>
Function* driver(const char* name) {
  auto* const found = reinterpret_cast<Function*>(watch().find(name));
  REQUIRE(found);
  return found;
}

/// A queue of the application, in the context of the plugin's device or in another one.
class AppQueue {
 public:
  static constexpr std::uint64_t out_of_order = 1 << 0;
  static constexpr std::uint64_t profiling = 1 << 1;

  /// In the context that the handle of an event has.
  AppQueue(const OpenClHost& host, std::uint64_t properties) {
    const auto table = host.backend().extension<tenon_events_v1>(TENON_EXTENSION_EVENTS);
    REQUIRE(table);
    tenon_event* event = nullptr;
    REQUIRE(table->create_event(host.backend().raw(), &event) == TENON_STATUS_OK);
    void* handle = nullptr;
    REQUIRE(table->export_handle(host.backend().raw(), event, &handle) == TENON_STATUS_OK);
    constexpr std::uint32_t event_context = 0x11D4;
    void* context = nullptr;
    using Info = std::int32_t(void*, std::uint32_t, std::size_t, void*, std::size_t*);
    REQUIRE(driver<Info>("clGetEventInfo")(handle, event_context, sizeof context,
                                           static_cast<void*>(&context), nullptr) == 0);
    table->destroy_event(host.backend().raw(), event);
    create(context, properties);
  }
  /// In a context of its own.
  AppQueue() {
    std::int32_t code = 0;
    using Create =
        void*(const std::intptr_t*, std::uint32_t, void* const*, void*, void*, std::int32_t*);
    void* const device = first_device();
    own_context_ = driver<Create>("clCreateContext")(nullptr, 1, &device, nullptr, nullptr, &code);
    REQUIRE(code == 0);
    create(own_context_, 0);
  }
  AppQueue(const AppQueue&) = delete;
  AppQueue& operator=(const AppQueue&) = delete;
  ~AppQueue() {
    driver<std::int32_t(void*)>("clReleaseCommandQueue")(queue_);
    if (own_context_) driver<std::int32_t(void*)>("clReleaseContext")(own_context_);
  }

  [[nodiscard]] NativeStream stream() const noexcept {
    return {TENON_KIND_OPENCL_COMMAND_QUEUE, queue_};
  }

 private:
  static void* first_device() {
    void* platform = nullptr;
    void* device = nullptr;
    using Platforms = std::int32_t(std::uint32_t, void**, std::uint32_t*);
    using Devices = std::int32_t(void*, std::uint64_t, std::uint32_t, void**, std::uint32_t*);
    REQUIRE(driver<Platforms>("clGetPlatformIDs")(1, &platform, nullptr) == 0);
    REQUIRE(driver<Devices>("clGetDeviceIDs")(platform, 0xFFFFFFFF, 1, &device, nullptr) == 0);
    return device;
  }
  void create(void* context, std::uint64_t properties) {
    std::int32_t code = 0;
    using Create = void*(void*, void*, std::uint64_t, std::int32_t*);
    queue_ = driver<Create>("clCreateCommandQueue")(context, first_device(), properties, &code);
    REQUIRE(code == 0);
  }

  void* own_context_ = nullptr;
  void* queue_ = nullptr;
};

constexpr int num_kernels = 12;

/// Two delegates that need nothing of each other, and a delegate that adds their results.
aot::ProgramData fork_and_join(std::int32_t columns) {
  Steps steps(64, columns);
  const auto left = steps.delegate({steps.input()}, 0.5, num_kernels);
  const auto right = steps.delegate({steps.input()}, 2, num_kernels);
  const auto out = steps.delegate({left, right}, 1, 1);
  return std::move(steps).finish(out);
}

/// When the kernels of one queue ran, from the first to the last.
struct Span {
  std::uint64_t start = UINT64_MAX;
  std::uint64_t end = 0;
};

std::map<const void*, Span> spans(const std::vector<WatchedKernel>& kernels) {
  std::map<const void*, Span> out;
  for (const WatchedKernel& one : kernels) {
    Span& span = out[one.queue];
    span.start = std::min(span.start, one.start);
    span.end = std::max(span.end, one.end);
  }
  return out;
}

/// Time in which two kernels of two queues both ran.
std::uint64_t time_of_both(const std::vector<WatchedKernel>& kernels) {
  std::uint64_t out = 0;
  for (const WatchedKernel& a : kernels) {
    for (const WatchedKernel& b : kernels) {
      if (a.queue >= b.queue) continue;
      const std::uint64_t start = std::max(a.start, b.start);
      const std::uint64_t end = std::min(a.end, b.end);
      if (end > start) out += end - start;
    }
  }
  return out;
}

std::vector<WatchedKernel> take_kernels() {
  std::vector<WatchedKernel> out(1000);
  out.resize(watch().take_kernels(out.data(), out.size()));
  return out;
}

class Measuring {
 public:
  Measuring() { watch().measure(true); }
  Measuring(const Measuring&) = delete;
  Measuring& operator=(const Measuring&) = delete;
  ~Measuring() { watch().measure(false); }
};

void run_async(host::Method& method) {
  const auto done = std::make_shared<std::promise<Status>>();
  REQUIRE(
      method.execute_async([done](Status outcome) { done->set_value(std::move(outcome)); }).ok());
  const Status outcome = done->get_future().get();
  INFO(outcome.text());
  REQUIRE(outcome.ok());
}

}  // namespace

TEST_CASE("delegates that need nothing of each other run on two queues, the third after both",
          "[opencl][queues]") {
  const Measuring measuring;
  const OpenClHost host;
  constexpr std::int32_t columns = 4096;
  const auto threads = host::ThreadExecutor::create(2);
  REQUIRE(threads.ok());
  host::MethodOptions options;
  options.layers.add(host::Async((*threads)->executor()));
  const auto method =
      host.load_ok(fork_and_join(columns), {{"command_buffer", std::string("off")}}, options);
  const Numbers x(64 * columns);
  const std::vector<std::int64_t> sizes = {64, columns};
  const AppQueue one_queue(host, AppQueue::profiling);

  struct Measured {
    std::uint64_t least = UINT64_MAX;  ///< From the first kernel's start to the last one's end.
    std::uint64_t both = 0;            ///< Most time in which kernels of two queues ran.
  };
  std::array<Measured, 2> measured;
  for (int i = 0; i < 10; ++i) {
    for (const bool on_one : {false, true}) {
      REQUIRE(method
                  ->set_stream(TENON_GRAPH_BACKEND_ID,
                               on_one ? one_queue.stream() : NativeStream(nullptr))
                  .ok());
      REQUIRE(set_floats(*method, 0, x.values(), sizes).ok());
      run_async(*method);
      const auto found = floats(method->output(0));
      CHECK(found[3] == x.values()[3] / 4096 + x.values()[3] * 4096);
      const auto kernels = take_kernels();
      REQUIRE(kernels.size() == 2 * num_kernels + 2);
      auto of_queues = spans(kernels);
      CHECK(of_queues.size() == (on_one ? 1 : 3));
      // The last two kernels compute the sum.
      std::uint64_t before = 0;
      for (std::size_t k = 0; k < 2 * num_kernels; ++k) before = std::max(before, kernels[k].end);
      CHECK(kernels[2 * num_kernels].start >= before);
      Measured& to = measured[on_one ? 1 : 0];
      std::uint64_t start = UINT64_MAX;
      for (const auto& one : kernels) start = std::min(start, one.start);
      to.least = std::min(to.least, kernels.back().end - start);
      to.both = std::max(to.both, time_of_both(kernels));
    }
  }
  CHECK(measured[1].both == 0);
  CHECK(measured[0].both > 0);
  std::cout << "two queues: " << measured[0].least / 1000 << " us, kernels of both for "
            << measured[0].both / 1000 << " us; one queue: " << measured[1].least / 1000 << " us\n";
}

TEST_CASE("a queue of another context, and one that keeps no order, are refused",
          "[opencl][queues]") {
  const OpenClHost host;
  Steps steps(6, 8);
  const auto program = std::move(steps).finish(steps.delegate({steps.input()}, 1.5));
  const auto method = host.load_ok(program);
  const AppQueue foreign;
  const AppQueue unordered(host, AppQueue::out_of_order);
  const auto refusal = [&](const AppQueue& queue) {
    return std::string(method->set_stream(TENON_GRAPH_BACKEND_ID, queue.stream()).text());
  };
  CHECK_THAT(refusal(foreign), ContainsSubstring("the queue is of another context"));
  CHECK_THAT(refusal(unordered), ContainsSubstring("the queue runs commands out of order"));
  const Numbers x(48);
  CHECK(run(*method, x.values(), 8)[0] == -12);
}

TEST_CASE("runs on the application's queue are recorded for it, and again for the session's own",
          "[opencl][queues][command-buffer]") {
  const OpenClHost host;
  Steps steps(6, 8);
  const auto program = std::move(steps).finish(steps.delegate({steps.input()}, 1.5));
  const auto method = host.load_ok(program, {{"command_buffer", std::string("on")}});
  const AppQueue queue(host, 0);
  const Numbers x(48);
  const Calls calls;
  for (const NativeStream stream : {queue.stream(), NativeStream(nullptr), queue.stream()}) {
    REQUIRE(method->set_stream(TENON_GRAPH_BACKEND_ID, stream).ok());
    for (int i = 0; i < 3; ++i) CHECK(run(*method, x.values(), 8)[0] == -12);
  }
  CHECK(calls.of("clCreateCommandBufferKHR") == 3);
  CHECK(calls.of("clEnqueueCommandBufferKHR") == 9);
}
