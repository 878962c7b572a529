// SPDX-License-Identifier: MIT
//
// Asynchronous runs that no thread waits for: the plugin says when they are complete, and wakes the
// executor. The delegates of later.cpp do, on their threads, also in wrong ways.
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include "async_support.hpp"

using namespace tenon;
using namespace tenon::test;
using namespace std::chrono_literals;

namespace parked_runs_test {
namespace {

using Calls = LaterRecord::Calls;
using Task = host::Executor::Task;

/// An executor that parks tasks, and whose tasks a test runs.
class ParkingQueue {
 public:
  enum class Park { keeps, refuses, throws, gives_nothing, runs_at_once };

  [[nodiscard]] host::Executor executor() {
    return {[this](Task task) {
              add(std::move(task));
              return ok();
            },
            [this](Task task) { return park(std::move(task)); }};
  }

  /// Runs a task, for which it waits 10 s at most.
  void run_one() {
    Task task;
    {
      std::unique_lock lock(mutex_);
      REQUIRE(changed_.wait_for(lock, 10s, [this] { return !tasks_.empty(); }));
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
  [[nodiscard]] std::size_t num_tasks() {
    const std::lock_guard lock(mutex_);
    return tasks_.size();
  }
  [[nodiscard]] std::size_t num_parked() {
    const std::lock_guard lock(mutex_);
    return parked_.size();
  }
  void drop_all() {
    std::map<int, Task> parked;
    std::deque<Task> tasks;
    const std::lock_guard lock(mutex_);
    parked.swap(parked_);
    tasks.swap(tasks_);
  }

  Park park_does = Park::keeps;

 private:
  void add(Task task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_all();
  }
  [[nodiscard]] Result<host::Executor::Wake> park(Task task) {
    if (park_does == Park::refuses) return error(Error::OutOfResources, "no room");
    if (park_does == Park::throws) throw std::runtime_error("out of order");
    if (park_does == Park::gives_nothing) return host::Executor::Wake();
    if (park_does == Park::runs_at_once) {
      task();
      return host::Executor::Wake([] {});
    }
    const std::lock_guard lock(mutex_);
    parked_.emplace(++last_, std::move(task));
    return host::Executor::Wake([this, number = last_] {
      const std::lock_guard same_lock(mutex_);
      const auto found = parked_.find(number);
      if (found == parked_.end()) return;
      tasks_.push_back(std::move(found->second));
      parked_.erase(found);
      changed_.notify_all();
    });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, Task> parked_;
  std::deque<Task> tasks_;
  int last_ = 0;
};

/// A method whose delegates are held until `release`, on such an executor.
struct HeldMethod {
  explicit HeldMethod(const FourFloats& program, host::MethodOptions options = {}) {
    static_cast<void>(later_record().take());
    later_record().hold();
    options.registry = &later_registry();
    options.layers.add(host::Async(queue.executor()));
    method = load_ok(program.builder, std::move(options));
    REQUIRE(set_floats(*method, 0, one_to_four, four).ok());
  }
  ~HeldMethod() {
    later_record().release();
    later_record().calls = Calls::once;
    queue.drop_all();  // After a failure a run may be pending.
    method.reset();
    static_cast<void>(later_record().take());
    CHECK(later_record().calls_inside == 0);
    CHECK(later_record().disturbed_events == 0);
  }
  HeldMethod(const HeldMethod&) = delete;
  HeldMethod& operator=(const HeldMethod&) = delete;

  void start() {
    const Status started = method->execute_async(outcomes.completion());
    INFO(started.text());
    REQUIRE(started.ok());
  }
  static void release() { later_record().release(); }
  Status finish() {
    release();
    queue.run_one();
    return outcome();
  }
  Status outcome() {
    REQUIRE(outcomes.all.size() == 1);
    Status out = std::move(outcomes.all[0]);
    outcomes.all.clear();
    return out;
  }
  [[nodiscard]] std::vector<float> output(std::size_t index = 0) const {
    return floats(method->output(index));
  }

  ParkingQueue queue;
  Outcomes outcomes;
  std::unique_ptr<host::Method> method;
};

const std::vector<float> as_given(one_to_four.begin(), one_to_four.end());

/// One delegate of one input and one output.
FourFloats program_of(const std::string& blob, const std::string& backend = "Later") {
  FourFloats program(2);
  const auto x = program.input(0);
  program.call(backend, blob, {x, program.output(1)});
  return program;
}

/// Two delegates that need nothing of each other.
FourFloats program_of_two(const std::string& first, const std::string& second,
                          const std::string& second_backend) {
  FourFloats program(3);
  const auto x = program.input(0);
  program.call("Later", first, {x, program.output(1)});
  program.call(second_backend, second, {x, program.output(2)});
  return program;
}

host::MethodOptions cancellable() {
  host::MethodOptions options;
  options.layers.add(host::Cancellation());
  return options;
}

}  // namespace

TEST_CASE("a run that only waits for its delegates holds no thread of the executor",
          "[async][TN-EVT-16][TN-EVT-18][TN-EVT-19]") {
  HeldMethod run(program_of_two("copy a", "copy b", "Other"));
  run.start();
  CHECK(run.queue.num_parked() == 1);
  CHECK(run.queue.num_tasks() == 0);
  CHECK(run.finish().ok());
  CHECK(run.output(0) == as_given);
  CHECK(run.output(1) == as_given);
  // The method may be run again.
  later_record().hold();
  run.start();
  CHECK(run.queue.num_parked() == 1);
  CHECK(run.finish().ok());
}

TEST_CASE("a run leaves the executor's thread once its last delegate is started", "[async]") {
  FourFloats program(4);
  const auto x = program.input(0);
  const auto y = program.value(1);
  const auto z = program.value(2);
  program.call("Later", "add a", {x, x, y});
  program.call("Test", "scale", {y, z});
  program.call("Later", "copy b", {z, program.output(3)});
  HeldMethod run(program);
  run.start();
  CHECK(run.queue.num_parked() == 0);
  REQUIRE(run.queue.num_tasks() == 1);
  run.release();
  for (int i = 0; i < 10000; ++i) {
    const Strings record = later_record().take();
    if (std::find(record.begin(), record.end(), "run add a") != record.end()) break;
    std::this_thread::sleep_for(1ms);
  }
  later_record().hold();
  run.queue.run_one();
  CHECK(run.outcomes.all.empty());
  CHECK(run.queue.num_parked() == 1);
  CHECK(run.finish().ok());
  CHECK(run.output() == std::vector<float>{4, 8, 12, 16});
}

TEST_CASE("one thread of an executor ends other runs while a device works", "[async][threads]") {
  auto executor = host::ThreadExecutor::create(1, 1);
  REQUIRE(executor.ok());
  later_record().hold();
  std::vector<std::unique_ptr<host::Method>> methods;
  std::vector<std::future<Status>> outcomes;
  for (int i = 0; i < 4; ++i) {
    methods.push_back(
        load_ok(program_of("copy a").builder, async_options((*executor)->executor())));
    REQUIRE(set_floats(*methods.back(), 0, one_to_four, four).ok());
    const auto promise = std::make_shared<std::promise<Status>>();
    outcomes.push_back(promise->get_future());
    REQUIRE(
        methods.back()
            ->execute_async([promise](Status outcome) { promise->set_value(std::move(outcome)); })
            .ok());
  }
  const auto quick = load_ok(chain_of({"scale"}), async_options((*executor)->executor()));
  REQUIRE(set_floats(*quick, 0, one_to_four, four).ok());
  for (int i = 0; i < 3; ++i) CHECK(run_async(*quick).ok());
  for (const auto& outcome : outcomes) CHECK(outcome.wait_for(0s) == std::future_status::timeout);
  later_record().release();
  for (auto& outcome : outcomes) CHECK(outcome.get().ok());
  for (const auto& method : methods) CHECK(floats(method->output(0)) == as_given);
  methods.clear();
  static_cast<void>(later_record().take());
}

TEST_CASE("a parked run fails as one that a thread waits for", "[async][TN-EVT-8]") {
  HeldMethod run(program_of_two("copy a", "fail b", "Later"));
  run.start();
  CHECK(run.queue.num_parked() == 1);
  const Status failed = run.finish();
  CHECK(failed.error() == Error::DelegateInvalidHandle);
  CHECK(failed.text() ==
        "method forward: instruction 0:1: delegate 1 (Later): wait: the run 'fail b' fails by "
        "its name");
}

TEST_CASE("a delegate that cannot be started fails a parked run after the others are done",
          "[async][TN-EVT-2]") {
  HeldMethod run(program_of_two("copy a", "refuse b", "Later"));
  run.start();
  CHECK(run.queue.num_parked() == 1);
  CHECK(run.finish().text() ==
        "method forward: instruction 0:1: delegate 1 (Later): start: the name 'refuse b' refuses "
        "the call");
  CHECK(run.output(0) == as_given);
}

TEST_CASE("a thread waits for a delegate whose plugin calls no functions", "[async]") {
  HeldMethod alone(program_of("copy a", "Apart"));
  alone.start();
  CHECK(alone.queue.num_parked() == 0);
  CHECK(alone.finish().ok());
  // Beside one that does, it waits when that one is complete.
  later_record().hold();
  HeldMethod mixed(program_of_two("copy a", "copy b", "Apart"));
  mixed.start();
  CHECK(mixed.queue.num_parked() == 1);
  CHECK(mixed.finish().ok());
  CHECK(mixed.output(1) == as_given);
}

TEST_CASE("a thread waits when the executor does not keep the task", "[async]") {
  using Park = ParkingQueue::Park;
  const Park park = GENERATE(Park::refuses, Park::throws, Park::gives_nothing);
  HeldMethod run(program_of("copy a"));
  run.queue.park_does = park;
  run.start();
  CHECK(run.queue.num_tasks() == 1);
  CHECK(run.finish().ok());
  CHECK(run.output() == as_given);
}

TEST_CASE("a task that the executor runs instead of keeping it ends the run", "[async]") {
  HeldMethod run(program_of("copy a"));
  run.queue.park_does = ParkingQueue::Park::runs_at_once;
  run.release();
  run.start();
  // Parked or, when the delegate was quick, not at all.
  if (run.outcomes.all.empty()) run.queue.run_one();
  CHECK(run.outcome().ok());
}

TEST_CASE("an executor that neither keeps nor runs a task is reported", "[async]") {
  const auto no_room = [](const Task&) -> Status {
    return error(Error::OutOfResources, "no room");
  };
  const auto no_place = [](const Task&) -> Result<host::Executor::Wake> {
    return error(Error::OutOfResources, "no place");
  };
  const auto method =
      load_ok(program_of("copy a").builder, async_options(host::Executor(no_room, no_place)));
  REQUIRE(set_floats(*method, 0, one_to_four, four).ok());
  Outcomes outcomes;
  CHECK(method->execute_async(outcomes.completion()).text() ==
        "the executor refused the run: no room");
  CHECK(outcomes.all.empty());
  CHECK(method->execute().ok());
}

TEST_CASE("a parked task that the executor destroys fails its run", "[async]") {
  HeldMethod run(program_of("copy a"));
  const bool is_woken = GENERATE(true, false);
  run.start();
  if (is_woken) {
    run.release();
    while (run.queue.num_tasks() == 0) std::this_thread::yield();
    run.queue.drop_all();
  } else {
    std::thread dropping([&] { run.queue.drop_all(); });
    run.release();
    dropping.join();
  }
  const Status failed = run.outcome();
  CHECK(failed.error() == Error::InvalidState);
  CHECK(failed.text() == "the executor destroyed the task without running it");
  CHECK(run.method->execute().ok());
}

TEST_CASE("a plugin that calls a function twice, too early or not as asked does no harm",
          "[async][TN-EVT-16][TN-EVT-17]") {
  const Calls calls = GENERATE(Calls::twice, Calls::early, Calls::refused);
  HeldMethod run(program_of_two("copy a", "copy b", "Other"));
  later_record().calls = calls;
  for (int i = 0; i < 3; ++i) {
    later_record().hold();
    run.start();
    // Who is woken too early, or is not going to be woken, waits on the executor's thread.
    CHECK(run.queue.num_tasks() == (calls == Calls::twice ? 0 : 1));
    CHECK(run.finish().ok());
    CHECK(run.output(0) == as_given);
    CHECK(run.output(1) == as_given);
  }
}

TEST_CASE("a plugin that calls no function leaves a run that can be cancelled",
          "[async][cancel][TN-EVT-16]") {
  std::vector<std::function<void()>> late;
  {
    HeldMethod run(program_of("copy a"), cancellable());
    later_record().calls = Calls::never;
    run.start();
    run.release();
    std::this_thread::sleep_for(5ms);
    CHECK(run.queue.num_tasks() == 0);
    CHECK(run.method->cancel().ok());
    CHECK(run.finish().ok());  // It was at its end.
    CHECK(run.output() == as_given);
    // From now on a thread waits for the method's runs.
    later_record().hold();
    run.start();
    CHECK(run.queue.num_parked() == 0);
    CHECK(run.finish().ok());
    late = later_record().take_kept();
    REQUIRE(late.size() == 1);
    late[0]();
  }
  late[0]();
}

TEST_CASE("a plugin that calls no function leaves a method that can be destroyed",
          "[async][threads][TN-EVT-16]") {
  auto executor = host::ThreadExecutor::create(1);
  REQUIRE(executor.ok());
  later_record().calls = Calls::never;
  later_record().hold();
  auto method = load_ok(program_of("copy a").builder, async_options((*executor)->executor()));
  REQUIRE(set_floats(*method, 0, one_to_four, four).ok());
  Outcomes outcomes;
  REQUIRE(method->execute_async(outcomes.completion()).ok());
  later_record().release();
  method.reset();
  later_record().calls = Calls::once;
  REQUIRE(outcomes.all.size() == 1);
  CHECK(outcomes.all[0].ok());
  for (const auto& function : later_record().take_kept()) function();
  static_cast<void>(later_record().take());
}

TEST_CASE("a parked run is cancelled, by the application and by its limit in time",
          "[async][cancel][limits]") {
  const bool is_timed = GENERATE(false, true);
  host::MethodOptions options = cancellable();
  if (is_timed) options.limits.run_milliseconds = 20;
  HeldMethod run(program_of("hang a"), std::move(options));
  run.release();
  for (int i = 0; i < 2; ++i) {
    run.start();
    if (!is_timed) {
      CHECK(run.queue.num_parked() == 1);
      CHECK(run.method->cancel().ok());
    }
    const Status ended = run.finish();
    CHECK(ended.error() == (is_timed ? Error::OutOfResources : Error::Cancelled));
    CHECK_THAT(std::string(ended.text()), ContainsSubstring("the run 'hang a' was cancelled"));
  }
}

TEST_CASE("destroying a method waits for its parked run and the completion", "[async][threads]") {
  auto executor = host::ThreadExecutor::create(1);
  REQUIRE(executor.ok());
  for (int i = 0; i < 50; ++i) {
    later_record().hold();
    auto method = load_ok(program_of("copy a").builder, async_options((*executor)->executor()));
    REQUIRE(set_floats(*method, 0, one_to_four, four).ok());
    bool completed = false;
    REQUIRE(method->execute_async([&](const Status&) { completed = true; }).ok());
    std::thread other([] { later_record().release(); });
    method.reset();
    CHECK(completed);
    other.join();
  }
  CHECK(later_record().calls_inside == 0);
  CHECK(later_record().disturbed_events == 0);
  static_cast<void>(later_record().take());
}

TEST_CASE("the completion of a parked run starts the next one, and destroys the method",
          "[async][threads]") {
  later_record().calls = GENERATE(Calls::once, Calls::twice);
  {
    auto executor = host::ThreadExecutor::create(2);
    REQUIRE(executor.ok());
    for (int i = 0; i < 10; ++i) {
      auto method = load_ok(program_of_two("copy a", "copy b", "Other").builder,
                            async_options((*executor)->executor()));
      REQUIRE(set_floats(*method, 0, one_to_four, four).ok());
      const auto end = std::make_shared<std::promise<Status>>();
      int runs = 0;
      std::function<void(Status)> next = [&, end](Status outcome) {
        if (outcome.ok() && ++runs < 20) {
          outcome = method->execute_async(next);
          if (outcome.ok()) return;
        }
        method.reset();
        end->set_value(std::move(outcome));
      };
      REQUIRE(method->execute_async(next).ok());
      CHECK(end->get_future().get().ok());
    }
  }
  later_record().calls = Calls::once;
  CHECK(later_record().calls_inside == 0);
  CHECK(later_record().disturbed_events == 0);
  CHECK(later_record().live_events == 0);
  static_cast<void>(later_record().take());
}

TEST_CASE("eight threads park runs on one executor and cancel them", "[async][cancel][threads]") {
  auto executor = host::ThreadExecutor::create(2);
  REQUIRE(executor.ok());
  std::vector<std::unique_ptr<host::Method>> methods;
  for (int i = 0; i < 8; ++i) {
    host::MethodOptions options = async_options((*executor)->executor());
    options.layers.add(host::Cancellation());
    methods.push_back(
        load_ok(program_of_two("copy a", "copy b", "Other").builder, std::move(options)));
    REQUIRE(set_floats(*methods.back(), 0, one_to_four, four).ok());
  }
  const std::vector<int> ended = count_right_runs(
      methods, 50,
      [](host::Method& method, int run) { return run % 2 != 0 || method.cancel().ok(); },
      [](std::size_t, int run, const Status& outcome) {
        return outcome.ok() || (run % 2 == 0 && outcome.error() == Error::Cancelled);
      });
  methods.clear();
  for (const int count : ended) CHECK(count == 50);
  CHECK(later_record().calls_inside == 0);
  CHECK(later_record().disturbed_events == 0);
  static_cast<void>(later_record().take());
}

}  // namespace parked_runs_test
