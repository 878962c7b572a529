// SPDX-License-Identifier: MIT
//
// Ending a run from another thread, and by the limit in time.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <thread>
#include <utility>

#include "tenon/abi/extensions/cancel.h"
#include "tenon/backend/cancel_flag.hpp"
#include "tenon/host/async.hpp"
#include "tenon/host/layers/cancel/impl/run_control.hpp"
#include "unit/host/layers/scheduling/control_support.hpp"

using namespace tenon;
using namespace tenon::test;
using host::Kernel;
using host::KernelTable;
using namespace std::chrono_literals;

namespace cancel_test {

/// Kernels of an application: `test::call` calls a function and counts its calls, and `test::spin`
/// waits for its flag.
class Kernels {
 public:
  Kernels() {
    REQUIRE(table.add("test::call", Kernel{&call, this}).ok());
    REQUIRE(table.add("test::spin", Kernel{&spin, this}).ok());
  }

  [[nodiscard]] host::MethodOptions options(bool cancellable = true) const {
    auto out = with_registry();
    out.kernels = &table;
    if (cancellable) out.layers.add(host::Cancellation());
    return out;
  }

  KernelTable table;
  std::function<void()> function = [] {};
  int calls = 0;
  std::atomic<bool> spins = false;
  const std::uint32_t* flag = nullptr;  ///< The flag of the latest call.

 private:
  static const std::uint32_t* flag_of(const tenon_execution_context& context) {
    const auto* const extension = static_cast<const tenon_cancel_flag_v1*>(
        context.host->get_extension(context.host, TENON_EXTENSION_CANCEL_FLAG));
    return extension->get_cancel_flag(&context);
  }
  static tenon_status call(void* self, const tenon_execution_context* context, tenon_value* const*,
                           std::uint32_t) {
    auto& kernels = *static_cast<Kernels*>(self);
    kernels.flag = flag_of(*context);
    ++kernels.calls;
    kernels.function();
    return TENON_STATUS_OK;
  }
  static tenon_status spin(void* self, const tenon_execution_context* context, tenon_value* const*,
                           std::uint32_t) {
    auto& kernels = *static_cast<Kernels*>(self);
    const CancelFlag flag(flag_of(*context));
    kernels.spins = true;
    while (!flag.is_set()) std::this_thread::yield();
    kernels.spins = false;
    return TENON_STATUS_CANCELLED;
  }
};

constexpr std::int32_t call_op = 0, spin_op = 1;

/// A method that calls kernels on one number.
std::unique_ptr<host::Method> kernels_of(const std::vector<std::int32_t>& ops,
                                         host::MethodOptions options) {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto number = plan.value(int_value(1));
  plan.op("test::call", "");
  plan.op("test::spin", "");
  for (const std::int32_t op : ops) plan.instruction(kernel_call(op, {number}));
  return load_ok(builder, std::move(options));
}

/// A method of one delegate that runs until it is cancelled.
std::unique_ptr<host::Method> hanging(host::MethodOptions options) {
  options.layers.add(host::Cancellation());
  return one_delegate("Later", "hang a", std::move(options));
}

}  // namespace cancel_test
using namespace cancel_test;

TEST_CASE("a run that is cancelled ends before the next instruction, and the next run is whole",
          "[method][cancel]") {
  Kernels kernels;
  const auto method = kernels_of({call_op, call_op, call_op}, kernels.options());
  kernels.function = [&] {
    if (kernels.calls == 2) REQUIRE(method->cancel().ok());
  };
  const Status cancelled = method->execute();
  CHECK(cancelled.error() == Error::Cancelled);
  CHECK(cancelled.text() == "method forward: instruction 0:2: the run was cancelled before it");
  CHECK(kernels.calls == 2);
  CHECK(*kernels.flag != 0);
  kernels.function = [&] { CHECK(*kernels.flag == 0); };
  CHECK(method->execute().ok());
  CHECK(kernels.calls == 5);
}

TEST_CASE("a run that is cancelled in its last instruction succeeds", "[method][cancel]") {
  Kernels kernels;
  const auto method = kernels_of({call_op}, kernels.options());
  kernels.function = [&] { REQUIRE(method->cancel().ok()); };
  CHECK(method->execute().ok());
}

TEST_CASE("without a run cancel has no effect, also not on the next run", "[method][cancel]") {
  Kernels kernels;
  const auto method = kernels_of({call_op, call_op}, kernels.options());
  CHECK(method->cancel().ok());
  CHECK(method->execute().ok());
  CHECK(method->cancel().ok());
  CHECK(method->execute().ok());
  CHECK(kernels.calls == 4);
}

TEST_CASE("a run that begins while another one of its method goes on is refused, and both end",
          "[method][cancel]") {
  Kernels kernels;
  std::vector<std::function<void()>> tasks;
  auto options = kernels.options();
  options.layers.add(host::Async([&](std::function<void()> task) {
    tasks.push_back(std::move(task));
    return ok();
  }));
  const auto method = kernels_of({call_op}, std::move(options));
  std::vector<Status> inner, completed;
  const auto start = [&] {
    return method->execute_async([&](Status status) { completed.push_back(std::move(status)); });
  };
  // From a kernel of an `execute`, and of an asynchronous run.
  bool is_inner = false;
  kernels.function = [&] {
    if (std::exchange(is_inner, true)) return;
    inner.push_back(method->execute());
    inner.push_back(start());
    is_inner = false;
  };
  CHECK(method->execute().ok());
  REQUIRE(start().ok());
  inner.push_back(method->execute());
  inner.push_back(start());
  while (!tasks.empty()) {
    const auto task = std::move(tasks.back());
    tasks.pop_back();
    task();
  }
  REQUIRE(inner.size() == 6);
  for (const Status& status : inner) {
    CHECK(status.error() == Error::InvalidState);
    CHECK_THAT(std::string(status.text()), ContainsSubstring("a run is pending"));
  }
  REQUIRE(completed.size() == 1);
  CHECK(completed[0].ok());
  CHECK(kernels.calls == 2);
  CHECK(method->execute().ok());
}

TEST_CASE("threads that run one cancellable method at the same time get InvalidState",
          "[method][cancel][threads]") {
  Kernels kernels;
  auto threads = host::ThreadExecutor::create(2);
  REQUIRE(threads.ok());
  auto options = kernels.options();
  options.layers.add(host::Async((*threads)->executor()));
  const auto method = kernels_of({call_op}, std::move(options));
  constexpr int each = 300;
  std::atomic<int> ran = 0, refused = 0, wrong = 0;
  const auto count = [&](const Status& status) {
    ++(status.ok() ? ran : status.error() == Error::InvalidState ? refused : wrong);
  };
  const auto work = [&](bool is_async) {
    for (int i = 0; i < each; ++i) {
      if (!is_async) {
        count(method->execute());
        continue;
      }
      const Status started = method->execute_async([&](const Status& status) { count(status); });
      if (!started.ok()) count(started);
    }
  };
  std::vector<std::thread> workers;
  for (const bool is_async : {false, true, false, true}) workers.emplace_back(work, is_async);
  for (std::thread& worker : workers) worker.join();
  while (ran + refused + wrong < 4 * each) std::this_thread::yield();
  CHECK(wrong == 0);
  CHECK(kernels.calls == ran);
  CHECK(ran > 0);
}

TEST_CASE("runs of a method that is not cancellable cannot be cancelled", "[method][cancel]") {
  Kernels kernels;
  const auto method = kernels_of({call_op}, kernels.options(false));
  REQUIRE(method->execute().ok());
  CHECK(kernels.flag == nullptr);
  const Status refused = method->cancel();
  CHECK(refused.error() == Error::InvalidState);
  CHECK(refused.text() ==
        "method forward: it was loaded without the layer Cancellation (MethodOptions::layers)");
}

TEST_CASE("the layer may be listed twice", "[method][cancel]") {
  Kernels kernels;
  auto options = kernels.options();
  options.layers.add(host::Cancellation());
  const auto method = kernels_of({call_op, call_op}, std::move(options));
  kernels.function = [&] { REQUIRE(method->cancel().ok()); };
  CHECK(method->execute().error() == Error::Cancelled);
  CHECK(*kernels.flag != 0);
  CHECK(kernels.calls == 1);
}

TEST_CASE("a kernel that looks at its flag is cancelled from another thread",
          "[method][cancel][threads]") {
  Kernels kernels;
  const auto method = kernels_of({call_op, spin_op}, kernels.options());
  auto outcome = std::async(std::launch::async, [&] { return method->execute(); });
  while (!kernels.spins) std::this_thread::yield();
  CHECK(method->cancel().ok());
  CHECK(method->cancel().ok());  // Again, as a button is pressed twice.
  const Status cancelled = outcome.get();
  CHECK(cancelled.error() == Error::Cancelled);
  INFO(cancelled.text());
  CHECK(cancelled.text().starts_with("method forward: instruction 0:1: kernel test::spin"));
}

TEST_CASE("a cancel that comes at any time ends at most the run that is going on",
          "[method][cancel][threads]") {
  Kernels kernels;
  const auto method = kernels_of(std::vector<std::int32_t>(20, call_op), kernels.options());
  std::atomic<bool> done = false;
  std::thread other([&] {
    while (!done) {
      if (!method->cancel().ok()) std::terminate();
    }
  });
  int cancelled = 0;
  int whole = 0;
  for (int i = 0; i < 2000; ++i) {
    const Status outcome = method->execute();
    if (!outcome.ok() && outcome.error() != Error::Cancelled) FAIL(outcome.text());
    ++(outcome.ok() ? whole : cancelled);
  }
  done = true;
  other.join();
  CHECK(whole + cancelled == 2000);
  CHECK(method->execute().ok());
}

TEST_CASE("a run that ends while it is being cancelled waits until that has ended",
          "[method][cancel][threads]") {
  // The end comes at many points of the cancellation: what wakes it must reach it at each.
  constexpr int num_runs = 20000;
  std::atomic<int> asked = 0, notifying = 0, notified = 0;
  host::detail::RunControl control(host::HostLimits::none, [&] {
    const int run = ++notifying;
    for (int delay = run % 64; delay != 0; --delay) {
      for (int step = 0; step < 32; ++step) static_cast<void>(asked.load());
    }
    notified.store(run);
  });
  std::thread other([&] {
    for (int run = 1; run <= num_runs; ++run) {
      while (asked.load() < run) std::this_thread::yield();
      control.cancel();
    }
  });
  int not_waited_for = 0;
  for (int run = 1; run <= num_runs; ++run) {
    REQUIRE(control.begin());
    asked = run;
    while (notifying.load() < run) std::this_thread::yield();
    CHECK_FALSE(control.end());
    if (notified.load() != run) ++not_waited_for;
    control.release();
  }
  other.join();
  CHECK(not_waited_for == 0);
}

TEST_CASE("a delegate that waits is woken once in a run", "[method][cancel][threads]") {
  const auto method = hanging(async_options({}));
  for (int i = 0; i < 3; ++i) {
    static_cast<void>(later_record().take());
    auto outcome = std::async(std::launch::async, [&] { return method->execute(); });
    std::this_thread::sleep_for(
        std::chrono::milliseconds(i));  // Before, while and after it starts.
    do {
      REQUIRE(method->cancel().ok());
    } while (outcome.wait_for(1ms) != std::future_status::ready);
    const Status cancelled = outcome.get();
    CHECK(cancelled.error() == Error::Cancelled);
    INFO(cancelled.text());
    if (cancelled.text().find("before it") != std::string_view::npos) continue;
    CHECK(cancelled.text() ==
          "method forward: instruction 0:0: delegate 0 (Later): execute: the run 'hang a' was "
          "cancelled");
    // In any order: the delegate runs on a thread of its own, and finds its flag set at once.
    Strings record = later_record().take();
    std::ranges::sort(record);
    CHECK(record == Strings{"cancel hang a", "run hang a", "start hang a"});
  }
}

TEST_CASE("an asynchronous run is cancelled while it waits for the executor",
          "[method][cancel][async]") {
  Kernels kernels;
  TaskQueue queue;
  Outcomes outcomes;
  auto options = kernels.options();
  options.layers.add(host::Async(queue.executor()));
  const auto method = kernels_of({call_op}, std::move(options));
  REQUIRE(method->execute_async(outcomes.completion()).ok());
  CHECK(method->cancel().ok());
  queue.run_all();
  REQUIRE(outcomes.all.size() == 1);
  CHECK(outcomes.all[0].error() == Error::Cancelled);
  CHECK(kernels.calls == 0);
  REQUIRE(method->execute_async(outcomes.completion()).ok());
  queue.run_all();
  REQUIRE(outcomes.all.size() == 2);
  CHECK(outcomes.all[1].ok());
}

TEST_CASE("a delegate that was started is cancelled", "[method][cancel][async]") {
  TaskQueue queue;
  Outcomes outcomes;
  const auto method = hanging(async_options(queue.executor()));
  static_cast<void>(later_record().take());
  REQUIRE(method->execute_async(outcomes.completion()).ok());
  CHECK(method->cancel().ok());
  queue.run_all();
  REQUIRE(outcomes.all.size() == 1);
  INFO(outcomes.all[0].text());
  CHECK(outcomes.all[0].error() == Error::Cancelled);
}

TEST_CASE("an executor that refuses a run leaves a method that can be cancelled",
          "[method][cancel][async]") {
  Kernels kernels;
  auto options = kernels.options();
  options.layers.add(host::Async(
      [](const std::function<void()>&) { return error(Error::OutOfResources, "no thread"); }));
  const auto method = kernels_of({call_op}, std::move(options));
  Outcomes outcomes;
  CHECK(method->execute_async(outcomes.completion()).error() == Error::OutOfResources);
  CHECK(method->cancel().ok());
  CHECK(method->execute().ok());
}

TEST_CASE("the limit in time ends an instruction of a method that is cancellable",
          "[method][cancel][limits]") {
  Kernels kernels;
  auto options = kernels.options();
  options.limits.run_milliseconds = 20;
  const auto method = kernels_of({call_op, spin_op}, options);
  for (int i = 0; i < 2; ++i) {
    const Status late = method->execute();
    CHECK(late.error() == Error::OutOfResources);
    INFO(late.text());
    CHECK(late.text().find("instruction 0:1: kernel test::spin") != std::string_view::npos);
    CHECK(late.text().ends_with("(after the limit run_milliseconds, 20)"));
  }
  // What is quick is not disturbed, also not by the time of an earlier run.
  const auto quick = kernels_of({call_op}, std::move(options));
  for (int i = 0; i < 5; ++i) {
    CHECK(quick->execute().ok());
    std::this_thread::sleep_for(5ms);
  }
}

TEST_CASE("a time limit of centuries is no limit", "[method][cancel][limits]") {
  Kernels kernels;
  auto options = kernels.options();
  options.limits.run_milliseconds = host::HostLimits::none - 1;
  const auto method = kernels_of({call_op}, std::move(options));
  CHECK(method->execute().ok());
}
