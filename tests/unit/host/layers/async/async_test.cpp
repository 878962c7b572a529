// SPDX-License-Identifier: MIT
//
// Asynchronous runs of methods whose backends have no events: all of a run is the executor's.
#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "async_support.hpp"
#include "tenon/host/async.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

std::unique_ptr<host::Method> scaling(host::Executor executor, const Strings& blobs = {"scale"}) {
  auto method = load_ok(chain_of(blobs), async_options(std::move(executor)));
  REQUIRE(set_floats(*method, 0, one_to_four, four).ok());
  return method;
}

}  // namespace

TEST_CASE("an asynchronous run happens when the executor runs it, and its completion is called",
          "[async]") {
  TaskQueue queue;
  Outcomes outcomes;
  const auto method = scaling(queue.executor());
  REQUIRE(method->execute_async(outcomes.completion()).ok());
  CHECK(outcomes.all.empty());
  REQUIRE(queue.tasks.size() == 1);
  queue.run_all();
  REQUIRE(outcomes.all.size() == 1);
  CHECK(outcomes.all[0].ok());
  CHECK(floats(method->output(0)) == std::vector<float>{2, 4, 6, 8});
}

TEST_CASE("the failure of an asynchronous run is the one of execute", "[async]") {
  TaskQueue queue;
  Outcomes outcomes;
  const auto method = scaling(queue.executor(), {"quiet", "fail-execute"});
  REQUIRE(method->execute_async(outcomes.completion()).ok());
  queue.run_all();
  const Status same = method->execute();
  REQUIRE(outcomes.all.size() == 1);
  CHECK_FALSE(same.ok());
  CHECK(outcomes.all[0].error() == same.error());
  CHECK(outcomes.all[0].text() == same.text());
}

TEST_CASE("while a run is pending everything that would change the method is refused", "[async]") {
  TaskQueue queue;
  Outcomes outcomes;
  const auto method = scaling(queue.executor());
  REQUIRE(method->execute_async(outcomes.completion()).ok());
  std::array<std::byte, 16> bytes{};
  const auto refused = [](const Status& status) {
    CHECK(status.error() == Error::InvalidState);
    CHECK(status.text() ==
          "method forward: a run is pending; it has ended when its completion is called");
  };
  refused(method->execute());
  refused(method->execute_async(outcomes.completion()));
  refused(set_floats(*method, 0, one_to_four, four));
  refused(method->set_output(0, bytes));
  refused(method->set_stream("Test", nullptr));
  refused(method->create_session().status());
  CHECK(queue.tasks.size() == 1);
  queue.run_all();
  CHECK(outcomes.all.size() == 1);
  CHECK(set_floats(*method, 0, one_to_four, four).ok());
  CHECK(method->execute().ok());
  REQUIRE(method->execute_async(outcomes.completion()).ok());
  queue.run_all();
  CHECK(outcomes.all.size() == 2);
}

TEST_CASE("a run without an input, the layer Async or a completion is refused", "[async]") {
  TaskQueue queue;
  Outcomes outcomes;
  const auto empty = load_ok(chain_of({"scale"}), async_options(queue.executor()));
  Status status = empty->execute_async(outcomes.completion());
  CHECK(status.error() == Error::InvalidArgument);
  CHECK(status.text() == "method forward: input 0 was not set");
  const auto alone = scaling({});
  status = alone->execute_async(outcomes.completion());
  CHECK(status.error() == Error::InvalidArgument);
  CHECK(status.text() ==
        "method forward: it was loaded without the layer Async (MethodOptions::layers)");
  const auto method = scaling(queue.executor());
  status = method->execute_async({});
  CHECK(status.text() == "method forward: execute_async needs a completion");
  CHECK(outcomes.all.empty());
  CHECK(queue.tasks.empty());
  CHECK(method->execute().ok());
}

TEST_CASE("an executor that refuses a run is reported, and its completion is never called",
          "[async]") {
  Outcomes outcomes;
  std::function<void()> kept;
  const auto method = scaling([&](std::function<void()> task) {
    kept = std::move(task);
    return error(Error::OutOfResources, "no room");
  });
  const Status refused = method->execute_async(outcomes.completion());
  CHECK(refused.error() == Error::OutOfResources);
  CHECK(refused.text() == "the executor refused the run: no room");
  kept();  // An executor must not; nothing happens.
  kept = nullptr;
  CHECK(outcomes.all.empty());
  CHECK(method->execute().ok());

  const auto throwing = scaling(
      [](const std::function<void()>&) -> Status { throw std::runtime_error("out of order"); });
  const Status failed = throwing->execute_async(outcomes.completion());
  CHECK(failed.error() == Error::Internal);
  CHECK(failed.text() == "the executor failed: out of order");
  CHECK(outcomes.all.empty());
  CHECK(throwing->execute().ok());
}

TEST_CASE("a run that the executor has run counts, whatever the executor says", "[async]") {
  Outcomes outcomes;
  const auto method = scaling([](const std::function<void()>& task) {
    task();
    task();
    return error(Error::Internal, "too late");
  });
  CHECK(method->execute_async(outcomes.completion()).ok());
  REQUIRE(outcomes.all.size() == 1);
  CHECK(outcomes.all[0].ok());
}

TEST_CASE("a task that is destroyed without being run fails its run", "[async]") {
  Outcomes outcomes;
  TaskQueue queue;
  const bool at_once = GENERATE(true, false);
  const host::Executor dropping = [](const std::function<void()>&) { return ok(); };
  const auto method = scaling(at_once ? dropping : queue.executor());
  REQUIRE(method->execute_async(outcomes.completion()).ok());
  queue.tasks.clear();
  REQUIRE(outcomes.all.size() == 1);
  CHECK(outcomes.all[0].error() == Error::InvalidState);
  CHECK(outcomes.all[0].text() == "the executor destroyed the task without running it");
  CHECK(method->execute().ok());
}

TEST_CASE("a completion may start the next run", "[async]") {
  TaskQueue queue;
  const bool inside = GENERATE(true, false);
  const auto at_once = [](const std::function<void()>& task) {
    task();
    return ok();
  };
  const auto method = scaling(inside ? host::Executor(at_once) : queue.executor());
  int runs = 0;
  std::function<void(Status)> again = [&](const Status& outcome) {
    CHECK(outcome.ok());
    if (++runs < 5) CHECK(method->execute_async(again).ok());
  };
  REQUIRE(method->execute_async(again).ok());
  queue.run_all();
  CHECK(runs == 5);
}

TEST_CASE("a completion may destroy the method", "[async]") {
  TaskQueue queue;
  auto method = scaling(queue.executor());
  bool called = false;
  REQUIRE(method
              ->execute_async([&](const Status& outcome) {
                CHECK(outcome.ok());
                method.reset();
                called = true;
              })
              .ok());
  queue.run_all();
  CHECK(called);
  CHECK(method == nullptr);
}

TEST_CASE("an executor that runs a task at once is there until it returns", "[async]") {
  bool is_there = false;
  auto method = scaling([&is_there, mine = std::make_shared<int>()](const auto& task) {
    const std::weak_ptr<int> seen = mine;
    bool& out = is_there;
    task();
    out = !seen.expired();
    return ok();
  });
  CHECK(method->execute_async([&](const Status&) { method.reset(); }).ok());
  CHECK(method == nullptr);
  CHECK(is_there);
}

TEST_CASE("an exception of a completion is the executor's, and the method remains usable",
          "[async]") {
  TaskQueue queue;
  Outcomes outcomes;
  const auto method = scaling(queue.executor());
  REQUIRE(method->execute_async([](const Status&) { throw std::runtime_error("mine"); }).ok());
  CHECK_THROWS_WITH(queue.run_all(), "mine");
  REQUIRE(method->execute_async(outcomes.completion()).ok());
  queue.run_all();
  CHECK(outcomes.all.size() == 1);
  // In a task that is dropped no caller is left to get it.
  REQUIRE(method->execute_async([](const Status&) { throw std::runtime_error("mine"); }).ok());
  queue.tasks.clear();
  CHECK(method->execute().ok());
}

TEST_CASE("what a completion holds is destroyed when it has been called", "[async]") {
  TaskQueue queue;
  const auto method = scaling(queue.executor());
  const auto held = std::make_shared<int>(1);
  REQUIRE(method->execute_async([held](const Status&) {}).ok());
  const auto task = queue.tasks.front();  // Executors may keep tasks.
  queue.run_all();
  CHECK(held.use_count() == 1);
}

TEST_CASE("an executor of threads refuses what its queue has no room for", "[async]") {
  CHECK(host::ThreadExecutor::create(0).error() == Error::InvalidArgument);
  Outcomes outcomes;
  auto executor = host::ThreadExecutor::create(1, 0);
  REQUIRE(executor.ok());
  const auto method = scaling((*executor)->executor());
  const Status refused = method->execute_async(outcomes.completion());
  CHECK(refused.error() == Error::OutOfResources);
  CHECK(refused.text() ==
        "the executor refused the run: the executor's queue is full: 0 tasks are waiting");
  CHECK(outcomes.all.empty());
  CHECK(method->execute().ok());
}

TEST_CASE("a synchronous run after an asynchronous one allocates nothing", "[async]") {
  TaskQueue queue;
  Outcomes outcomes;
  const auto method = scaling(queue.executor(), {"quiet", "quiet"});
  REQUIRE(method->execute_async(outcomes.completion()).ok());
  queue.run_all();
  const std::size_t before = num_allocations();
  for (int i = 0; i < 10; ++i) static_cast<void>(method->execute());
  CHECK(num_allocations() == before);
}

TEST_CASE("destroying a method waits for its run and the completion", "[async][threads]") {
  for (int i = 0; i < 50; ++i) {
    TaskQueue queue;
    auto method = scaling(queue.executor(), {"scale", "scale"});
    bool completed = false;
    REQUIRE(method->execute_async([&](const Status&) { completed = true; }).ok());
    std::thread other([&] { queue.run_all(); });
    method.reset();
    CHECK(completed);
    other.join();
  }
}

TEST_CASE("eight threads run methods of their own asynchronously", "[async][threads]") {
  auto executor = host::ThreadExecutor::create(3);
  REQUIRE(executor.ok());
  std::vector<std::unique_ptr<host::Method>> methods;
  std::array<std::array<float, 4>, 8> inputs{};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].fill(static_cast<float>(i + 1));
    methods.push_back(
        load_ok(chain_of({"scale", "quiet"}), async_options((*executor)->executor())));
    REQUIRE(set_floats(*methods.back(), 0, inputs[i], four).ok());
  }
  const std::vector<int> right =
      count_right_runs(methods, 50, [&](std::size_t i, int, const Status& outcome) {
        const Tensor<const float> out(*methods[i]->output(0).as.tensor);
        return outcome.ok() && *out.begin() == 2 * inputs[i][0];
      });
  for (const int count : right) CHECK(count == 50);
}
