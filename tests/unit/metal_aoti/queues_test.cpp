// SPDX-License-Identifier: MIT
//
// Queues of the application. The stand-in is lazy: it works only when the CPU waits, so that a wait
// shows, and so does what is read too early.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "application.hpp"
#include "sum_model.hpp"

using namespace metal_test;
using tenon::metal_stand_in::control;

namespace queues_test {

TEST_CASE("a run on the application's queue with all on the device is submitted and not waited for",
          "[metal][queues][TN-STR-3][TN-DEV-7]") {
  const ResidentSum sum(1);
  const AppQueue queue;
  REQUIRE(sum.method->set_stream("MetalBackend", queue.stream()).ok());
  const LazyDevice lazy;
  const Waits waits;
  for (int run = 0; run < 3; ++run) sum.execute();
  CHECK(waits.count() == 0);
  CHECK(sum.y.now() == 0);
  // Copies for the host are made after all of it.
  CHECK(sum.y.read() == 12);
}

TEST_CASE("runs are in order with the application's own work on its queue",
          "[metal][queues][TN-STR-3]") {
  ResidentSum sum(1);
  const Block source(sum, 5), result(sum, 0);
  const AppQueue queue;
  REQUIRE(sum.method->set_stream("MetalBackend", queue.stream()).ok());
  const LazyDevice lazy;
  const Waits waits;
  queue.copy(sum.x.data(), source.data());
  sum.execute();
  queue.copy(result.data(), sum.y.data());
  queue.copy(sum.y.data(), source.data());
  CHECK(waits.count() == 0);
  laziness().wake();
  // Which waits for what is on the queue.
  REQUIRE(queue.submit([] { return ok(); })->wait_until_completed().ok());
  float first = 0;
  std::memcpy(&first, result.data(), sizeof first);
  CHECK(first == 16);
  std::memcpy(&first, sum.y.data(), sizeof first);
  CHECK(first == 5);
}

TEST_CASE("what was submitted to one queue comes before what is submitted to the next",
          "[metal][queues][TN-STR-3][TN-STR-5]") {
  ResidentSum sum(1);
  std::optional<AppQueue> first(std::in_place), second(std::in_place);
  const int queues = control().num_queues;
  float value = 1;
  for (const NativeStream stream : {first->stream(), second->stream(), NativeStream(nullptr)}) {
    sum.x.fill(value);
    {
      const LazyDevice lazy;
      sum.execute();  // Left as it is when the queue changes.
      REQUIRE(sum.method->set_stream("MetalBackend", stream).ok());
    }
    CHECK(sum.y.now() == value + 11);
    ++value;
  }
  // Queues that the delegate has no more are not kept.
  first.reset();
  second.reset();
  CHECK(control().num_queues == queues - 2);
  sum.execute();
  CHECK(sum.y.now() == value - 1 + 11);
}

TEST_CASE("arguments in the host's memory are complete when a run on the queue returns",
          "[metal][queues][TN-STR-2]") {
  SumModel sum;
  const Pages pages(2);
  const auto imported = host::ImportedMemory::import(sum.backend(), pages.memory());
  REQUIRE(imported.ok());
  sum.load();
  const AppQueue queue;
  REQUIRE(sum.method->set_stream("MetalBackend", queue.stream()).ok());
  // The output is copied in the first run, and then in place.
  for (int run = 0; run < 3; ++run) {
    const LazyDevice lazy;
    sum.run(pages.data(), static_cast<float>(run));
  }
}

TEST_CASE("inputs in the heap have been read when a run on the queue returns, without a wait",
          "[metal][queues][TN-STR-2]") {
  ResidentSum sum(1, false);
  const Block first_result(sum, 0);
  const AppQueue queue;
  REQUIRE(sum.method->set_stream("MetalBackend", queue.stream()).ok());
  const LazyDevice lazy;
  const Waits waits;
  for (const float value : {1.0f, 2.0f}) {
    sum.put_input(value, false);
    sum.execute();
    // Into the block that the first run still has to read.
    if (value == 1) queue.copy(first_result.data(), sum.y.data());
    sum.put_input(100, false);
  }
  CHECK(waits.count() == 0);
  CHECK(sum.y.read() == 13);
  float first = 0;
  std::memcpy(&first, first_result.data(), sizeof first);
  CHECK(first == 12);
}

TEST_CASE("a queue of another device is refused, and the delegate keeps its own",
          "[metal][queues][TN-STR-1]") {
  const ResidentSum sum(1);
  const AppQueue queue, other;
  REQUIRE(sum.method->set_stream("MetalBackend", queue.stream()).ok());
  control().queue_of_other_device = other.handle();
  const Status refused = sum.method->set_stream("MetalBackend", other.stream());
  control().queue_of_other_device = nullptr;
  CHECK(refused.error() == Error::NotSupported);
  CHECK_THAT(std::string(refused.text()), ContainsSubstring("another device"));
  const LazyDevice lazy;
  const Waits waits;
  sum.execute();
  CHECK(waits.count() == 0);
  laziness().wake();
  REQUIRE(queue.submit([] { return ok(); })->wait_until_completed().ok());
  CHECK(sum.y.now() == 12);
}

TEST_CASE("destroying a delegate waits for its work on the application's queue",
          "[metal][queues][TN-STR-4]") {
  const AppQueue queue;
  ResidentSum sum(1);
  REQUIRE(sum.method->set_stream("MetalBackend", queue.stream()).ok());
  const LazyDevice lazy;
  sum.execute();
  sum.method.reset();
  CHECK(sum.y.now() == 12);
}

TEST_CASE("several copies of a model run on one queue", "[metal][queues][TN-STR-3]") {
  SumModel sum;
  sum.load(with_option("model_copies", std::int64_t{2}));
  const Block x(sum, 1), y(sum, 0);
  ResidentSum::put(*sum.method->output(0).as.tensor, y);
  std::vector<std::byte> heap(SumModel::nbytes);
  sum.set_input(heap.data(), 2);
  const AppQueue queue;
  REQUIRE(sum.method->set_stream("MetalBackend", queue.stream()).ok());
  const LazyDevice lazy;
  const Waits waits;
  REQUIRE(sum.method->execute().ok());
  CHECK(waits.count() == 0);
  CHECK(y.read() == 13);
}

TEST_CASE("a run on the queue that fails is reported by the next call that waits",
          "[metal][queues][TN-STR-3]") {
  const ResidentSum sum(1);
  const AppQueue queue;
  REQUIRE(sum.method->set_stream("MetalBackend", queue.stream()).ok());
  const auto fail = [&] {
    control().fails_next_dispatch = true;
    {
      const LazyDevice lazy;
      REQUIRE(sum.method->execute().ok());
    }
    REQUIRE(queue.submit([] { return ok(); })->wait_until_completed().ok());
  };
  float number = 0;
  fail();
  const Status copied = sum.y.memory().copy_to_host(&number, sum.y.data(), sizeof number);
  CHECK_THAT(std::string(copied.text()), ContainsSubstring("the kernel failed, as requested"));
  CHECK(sum.y.memory().copy_to_host(&number, sum.y.data(), sizeof number).ok());
  fail();
  // The next run is submitted, and says it.
  CHECK_THAT(std::string(sum.method->execute().text()), ContainsSubstring("as requested"));
  sum.execute();
  CHECK(sum.y.read() == 12);
  fail();
  CHECK_FALSE(sum.method->set_stream("MetalBackend", nullptr).ok());
  REQUIRE(sum.method->set_stream("MetalBackend", nullptr).ok());
  sum.execute();
}

TEST_CASE("copies between blocks are in the order of the application's queue",
          "[metal][queues][TN-DEV-9][TN-DEV-10]") {
  ResidentSum sum(1);
  const Block first(sum, 0), second(sum, 0);
  const AppQueue queue;
  REQUIRE(sum.method->set_stream("MetalBackend", queue.stream()).ok());
  const auto copy = [&](NativeStream stream, const Block& to, const Block& from) {
    return to.memory().copy_on(stream, to.data(), metal_device, from.data(), SumModel::nbytes);
  };
  const LazyDevice lazy;
  const Waits waits;
  sum.execute();
  REQUIRE(copy(queue.stream(), first, sum.y).ok());
  REQUIRE(copy(queue.stream(), second, first).ok());
  REQUIRE(copy(queue.stream(), sum.x, second).ok());
  sum.execute();
  CHECK(waits.count() == 0);
  CHECK(second.now() == 0);
  // Without a stream it is complete, after all of that.
  REQUIRE(copy(nullptr, first, sum.y).ok());
  CHECK(first.now() == 23);
  CHECK(second.now() == 12);
  const Status refused = first.memory().copy_on(queue.stream(), first.data(), metal_device,
                                                sum.heap.data(), SumModel::nbytes);
  CHECK(refused.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(refused.text()), ContainsSubstring("expected the address of memory"));
}

}  // namespace queues_test
