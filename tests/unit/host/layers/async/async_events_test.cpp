// SPDX-License-Identifier: MIT
//
// Asynchronous runs of delegates with events. Delegates of later.cpp run on threads of their own,
// and a test holds them before they begin.
#include <algorithm>
#include <array>
#include <random>
#include <string>

#include "async_support.hpp"
#include "tenon/host/async.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

constexpr float unwritten = -77;

/// A method whose delegates are held until `finish`. All of its outputs are `unwritten` before.
struct Held {
  explicit Held(const FourFloats& program) {
    static_cast<void>(later_record().take());
    later_record().hold();
    method = load_ok(program.builder, async_options(queue.executor()));
    REQUIRE(set_floats(*method, 0, one_to_four, four).ok());
    for (std::size_t i = 0; i < method->num_outputs(); ++i) {
      const Tensor<float> out(*method->output(i).as.tensor);
      std::fill(out.begin(), out.end(), unwritten);
    }
  }
  ~Held() {
    later_record().release();
    method.reset();
    static_cast<void>(later_record().take());
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  /// Begins a run; what happened until it returned.
  Strings start() {
    const Status started = method->execute_async(outcomes.completion());
    INFO(started.text());
    REQUIRE(started.ok());
    return later_record().take();
  }
  Status finish() {
    later_record().release();
    queue.run_all();
    REQUIRE(outcomes.all.size() == 1);
    return std::move(outcomes.all[0]);
  }
  [[nodiscard]] std::vector<float> output(std::size_t index) const {
    return floats(method->output(index));
  }

  TaskQueue queue;
  Outcomes outcomes;
  std::unique_ptr<host::Method> method;
};

const std::vector<float> doubled{2, 4, 6, 8};
const std::vector<float> as_given(one_to_four.begin(), one_to_four.end());
const std::vector<float> not_yet(4, unwritten);

}  // namespace

TEST_CASE("two delegates that share an input are both started before either is done",
          "[async][TN-EVT-4]") {
  FourFloats program(3);
  const auto x = program.input(0);
  const auto y = program.output(1);
  const auto z = program.output(2);
  program.call("Later", "copy a", {x, y});
  program.call("Later", "add b", {x, x, z});
  Held held(program);
  CHECK(held.start() == Strings{"start copy a", "start add b"});
  // Before the completion outputs are not complete, and reading them shows it.
  CHECK(held.output(0) == not_yet);
  CHECK(held.output(1) == not_yet);
  CHECK(held.finish().ok());
  CHECK(held.output(0) == as_given);
  CHECK(held.output(1) == doubled);
}

TEST_CASE("a delegate that reads what another writes is given its event", "[async][TN-EVT-10]") {
  FourFloats program(3);
  const auto x = program.input(0);
  const auto y = program.value(1);
  const auto z = program.output(2);
  program.call("Later", "add a", {x, x, y});
  program.call("Later", "copy b", {y, z});
  Held held(program);
  CHECK(held.start() == Strings{"start add a", "wait_on", "start copy b"});
  CHECK(held.finish().ok());
  CHECK(held.output(0) == doubled);
}

TEST_CASE("events of one kind are passed on between backends", "[async]") {
  FourFloats program(3);
  const auto x = program.input(0);
  const auto y = program.value(1);
  const auto z = program.output(2);
  program.call("Later", "add a", {x, x, y});
  program.call("Other", "copy b", {y, z});
  Held held(program);
  CHECK(held.start() == Strings{"start add a", "import", "wait_on", "start copy b"});
  CHECK(held.finish().ok());
  CHECK(held.output(0) == doubled);
}

TEST_CASE("between events of other kinds the host waits before what reads is started", "[async]") {
  FourFloats program(4);
  const auto x = program.input(0);
  const auto y = program.value(1);
  const auto z = program.output(2);
  const auto w = program.output(3);
  program.call("Later", "add a", {x, x, y});
  program.call("Apart", "copy c", {x, w});
  program.call("Apart", "copy b", {y, z});
  Held held(program);
  CHECK(held.start() == Strings{"start add a", "start copy c"});
  CHECK(held.finish().ok());
  const Strings rest = later_record().take();
  const auto waits = std::find(rest.begin(), rest.end(), "host waits");
  CHECK(waits < std::find(rest.begin(), rest.end(), "start copy b"));
  CHECK(held.output(0) == doubled);
  CHECK(held.output(1) == as_given);
}

TEST_CASE("a delegate that writes over what another reads comes after it", "[async][TN-EVT-7]") {
  FourFloats program(3);
  const auto x = program.input(0);
  const auto y = program.value(1);
  const auto z = program.output(2);
  const auto again = program.output(1);  // In the memory of y, which is read before.
  program.call("Later", "copy a", {x, y});
  program.call("Later", "add b", {y, y, z});
  program.call("Later", "add c", {x, x, again});
  Held held(program);
  // The last one waits for both: one writes, the other reads what it writes.
  CHECK(held.start() ==
        Strings{"start copy a", "wait_on", "start add b", "wait_on", "wait_on", "start add c"});
  CHECK(held.finish().ok());
  CHECK(held.output(0) == doubled);
  CHECK(held.output(1) == doubled);
}

TEST_CASE("delegates that write one value after the other keep their order", "[async]") {
  FourFloats program(2);
  const auto x = program.input(0);
  const auto y = program.output(1);
  program.call("Later", "copy a", {x, y});
  program.call("Later", "add b", {x, y, y});
  program.call("Later", "add c", {x, y, y});
  Held held(program);
  CHECK(held.start() ==
        Strings{"start copy a", "wait_on", "start add b", "wait_on", "wait_on", "start add c"});
  CHECK(held.finish().ok());
  CHECK(held.output(0) == std::vector<float>{3, 6, 9, 12});
}

TEST_CASE("a delegate without events runs after what it reads, on the executor", "[async]") {
  FourFloats program(4);
  const auto x = program.input(0);
  const auto y = program.value(1);
  const auto z = program.value(2);
  const auto w = program.output(3);
  program.call("Later", "add a", {x, x, y});
  program.call("Test", "scale", {y, z});
  program.call("Later", "copy b", {z, w});
  Held held(program);
  CHECK(held.start() == Strings{"start add a"});
  CHECK(held.finish().ok());
  CHECK(held.output(0) == std::vector<float>{4, 8, 12, 16});
}

TEST_CASE("a run that fails after it was started fails the method's run, with its place",
          "[async][TN-EVT-8]") {
  FourFloats program(4);
  const auto x = program.input(0);
  const auto y = program.value(1);
  const auto z = program.output(2);
  const auto w = program.output(3);
  program.call("Later", "copy a", {x, w});
  program.call("Later", "fail b", {x, y});
  program.call("Later", "copy c", {y, z});
  Held held(program);
  held.start();
  const Status failed = held.finish();
  CHECK(failed.error() == Error::DelegateInvalidHandle);
  CHECK(failed.text() ==
        "method forward: instruction 0:1: delegate 1 (Later): wait: the run 'fail b' fails by "
        "its name");
  // The method may be run again.
  CHECK(held.method->execute().error() == Error::DelegateInvalidHandle);
}

TEST_CASE("a delegate that cannot be started fails the run after what was started is done",
          "[async][TN-EVT-2]") {
  FourFloats program(3);
  const auto x = program.input(0);
  const auto y = program.output(1);
  const auto z = program.output(2);
  program.call("Later", "copy a", {x, y});
  program.call("Later", "refuse b", {x, z});
  program.call("Later", "copy c", {x, z});
  Held held(program);
  CHECK(held.start() == Strings{"start copy a"});
  const Status failed = held.finish();
  CHECK(failed.error() == Error::Internal);
  CHECK(failed.text() ==
        "method forward: instruction 0:1: delegate 1 (Later): start: the name 'refuse b' refuses "
        "the call");
  CHECK(held.output(0) == as_given);
  CHECK(held.output(1) == not_yet);
}

TEST_CASE("an executor that refuses is reported after what was started is done",
          "[async][TN-EVT-7]") {
  FourFloats program(2);
  const auto x = program.input(0);
  const auto y = program.output(1);
  program.call("Later", "copy a", {x, y});
  const auto method =
      load_ok(program.builder,
              async_options([](const auto&) { return error(Error::OutOfResources, "no room"); }));
  REQUIRE(set_floats(*method, 0, one_to_four, four).ok());
  const Status refused = method->execute_async([](const Status&) {});
  CHECK(refused.text() == "the executor refused the run: no room");
  CHECK(floats(method->output(0)) == as_given);
  CHECK(method->execute().ok());
}

TEST_CASE("a run with a trace executes one delegate after the other", "[async]") {
  FourFloats program(2);
  const auto x = program.input(0);
  const auto y = program.output(1);
  program.call("Later", "copy a", {x, y});
  TaskQueue queue;
  Outcomes outcomes;
  host::Trace trace;
  host::MethodOptions options = async_options(queue.executor());
  options.layers.add(trace);
  const auto method = load_ok(program.builder, std::move(options));
  REQUIRE(set_floats(*method, 0, one_to_four, four).ok());
  static_cast<void>(later_record().take());
  REQUIRE(method->execute_async(outcomes.completion()).ok());
  CHECK(later_record().take().empty());
  queue.run_all();
  REQUIRE(outcomes.all.size() == 1);
  CHECK(outcomes.all[0].ok());
  CHECK(floats(method->output(0)) == as_given);
}

TEST_CASE("more delegates than are kept in flight give what they give one by one", "[async]") {
  constexpr std::int32_t count = 100;
  FourFloats program(count + 1);
  const auto x = program.input(0);
  for (std::int32_t i = 0; i < count; ++i) {
    const auto y = program.output(static_cast<std::uint64_t>(i) + 1);
    program.call("Later", i % 2 == 0 ? "copy" : "add",
                 i % 2 == 0 ? std::vector{x, y} : std::vector{x, x, y});
  }
  Held held(program);
  CHECK(held.start().size() == 32);
  CHECK(held.finish().ok());
  for (std::size_t i = 0; i < count; ++i)
    CHECK(held.output(i) == (i % 2 == 0 ? as_given : doubled));
}

TEST_CASE("every event is destroyed with its method, before its backend is closed",
          "[async][TN-EVT-13]") {
  FourFloats program(4);
  const auto x = program.input(0);
  const auto y = program.value(1);
  const auto z = program.value(2);
  const auto w = program.output(3);
  program.call("Later", "copy a", {x, y});
  program.call("Other", "copy b", {y, z});
  program.call("Apart", "copy c", {z, w});
  const int before = later_record().left_at_close;
  {
    host::BackendRegistry registry;
    REQUIRE(registry.register_backend(tenon_static_plugin_Later).ok());
    auto executor = host::ThreadExecutor::create(1);
    REQUIRE(executor.ok());
    host::MethodOptions options = async_options((*executor)->executor());
    options.registry = &registry;
    const auto method = load_ok(program.builder, std::move(options));
    REQUIRE(set_floats(*method, 0, one_to_four, four).ok());
    for (int run = 0; run < 3; ++run) CHECK(run_async(*method).ok());
    CHECK(later_record().live_events > 0);
  }
  CHECK(later_record().live_events == 0);
  CHECK(later_record().left_at_close == before);
}

TEST_CASE("a run with events ends with the messages of execute", "[async]") {
  const auto check = [](const auto& extend, std::string_view expected) {
    FourFloats program(2);
    const auto x = program.input(0);
    const auto y = program.output(1);
    program.call("Later", "copy a", {x, y});
    PlanBuilder plan(*program.builder.program.execution_plan[0]);
    extend(plan);
    TaskQueue queue;
    Outcomes outcomes;
    host::MethodOptions options = async_options(queue.executor());
    options.limits.instructions = 10;
    const auto method = load_ok(program.builder, std::move(options));
    REQUIRE(set_floats(*method, 0, one_to_four, four).ok());
    const Status executed = method->execute();
    CHECK_THAT(std::string(executed.text()), ContainsSubstring(std::string(expected)));
    REQUIRE(method->execute_async(outcomes.completion()).ok());
    queue.run_all();
    REQUIRE(outcomes.all.size() == 1);
    CHECK(describe(outcomes.all[0]) == describe(executed));
  };
  check([](PlanBuilder& plan) { plan.instruction(free_call(plan.value(int_value(1)))); },
        "instruction 0:1: FreeCall: expected a Tensor, found Int");
  check([](PlanBuilder& plan) { plan.instruction(jump_false_call(plan.value(int_value(1)), 0)); },
        "instruction 0:1: JumpFalseCall: expected a Bool");
  check(
      [](PlanBuilder& plan) {
        plan.instruction(jump_false_call(plan.value(bool_value(false)), 0));
      },
      "instruction 0:0: more than 10 instructions were run");
}

TEST_CASE("one delegate that is called several times keeps the order of its calls", "[async]") {
  FourFloats program(4);
  const auto x = program.input(0);
  const auto y = program.value(1);
  const auto z = program.value(2);
  const auto w = program.output(3);
  program.call("Later", "copy a", {x, y});
  program.call_again(0, {y, z});
  program.call_again(0, {z, w});
  Held held(program);
  CHECK(held.start() == Strings{"start copy a", "start copy a", "start copy a"});
  CHECK(held.finish().ok());
  CHECK(held.output(0) == as_given);
}

namespace {

/// A program of `count` delegates of all backends, whose values share memory as a planner lets
/// them: a value's place is free after its last use.
FourFloats random_program(std::mt19937& random, int count) {
  constexpr std::uint64_t places = 12;
  FourFloats program(places);
  const auto pick = [&](std::size_t below) { return random() % below; };
  struct Value {
    std::int32_t index;
    std::uint64_t place;
  };
  std::vector<Value> live{{program.input(0), 0}};
  std::vector<std::uint64_t> free;
  for (std::uint64_t place = 1; place < places; ++place) free.push_back(place);
  constexpr std::array backends{"Later", "Other", "Apart", "Test"};
  for (int i = 0; i < count; ++i) {
    if (free.empty() || (live.size() > 2 && pick(3) == 0)) {
      const std::size_t unused = 1 + pick(live.size() - 1);
      free.push_back(live[unused].place);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(unused));
    }
    const std::size_t at = pick(free.size());
    const Value made{program.value(free[at]), free[at]};
    free.erase(free.begin() + static_cast<std::ptrdiff_t>(at));
    const std::string backend = backends[pick(backends.size())];
    const std::int32_t a = live[pick(live.size())].index;
    const std::int32_t b = live[pick(live.size())].index;
    if (backend == "Test") {
      program.call(backend, "scale", {a, made.index});
    } else if (pick(2) == 0) {
      program.call(backend, "copy", {a, made.index});
    } else {
      program.call(backend, "add", {a, b, made.index});
    }
    live.push_back(made);
  }
  for (const Value& value : live) program.is_output(value.index);
  return program;
}

}  // namespace

TEST_CASE("asynchronous runs of any program give what synchronous ones give", "[async][threads]") {
  auto executor = host::ThreadExecutor::create(1);
  REQUIRE(executor.ok());
  for (unsigned seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    const FourFloats program = random_program(random, 30);
    const auto method = load_ok(program.builder, async_options((*executor)->executor()));
    REQUIRE(set_floats(*method, 0, one_to_four, four).ok());
    const auto results = [&] {
      std::vector<std::vector<float>> out;
      for (std::size_t i = 0; i < method->num_outputs(); ++i) {
        out.push_back(floats(method->output(i)));
      }
      return out;
    };
    REQUIRE(method->execute().ok());
    const auto expected = results();
    for (int run = 0; run < 3; ++run) {
      REQUIRE(set_floats(*method, 0, one_to_four, four).ok());
      const Status outcome = run_async(*method);
      INFO(outcome.text());
      REQUIRE(outcome.ok());
      REQUIRE(results() == expected);
    }
    static_cast<void>(later_record().take());
  }
}

TEST_CASE("eight threads run delegates with events asynchronously", "[async][threads]") {
  auto executor = host::ThreadExecutor::create(4);
  REQUIRE(executor.ok());
  FourFloats program(4);
  const auto x = program.input(0);
  const auto y = program.value(1);
  const auto z = program.value(2);
  const auto w = program.output(3);
  program.call("Later", "add a", {x, x, y});
  program.call("Other", "copy b", {x, z});
  program.call("Apart", "add c", {y, z, w});
  std::vector<std::unique_ptr<host::Method>> methods;
  for (int i = 0; i < 8; ++i) {
    methods.push_back(load_ok(program.builder, async_options((*executor)->executor())));
    REQUIRE(set_floats(*methods.back(), 0, one_to_four, four).ok());
  }
  const std::vector<int> right =
      count_right_runs(methods, 25, [&](std::size_t i, int, const Status& outcome) {
        const Tensor<const float> out(*methods[i]->output(0).as.tensor);
        return outcome.ok() && out[3] == 12;
      });
  methods.clear();
  static_cast<void>(later_record().take());
  for (const int count : right) CHECK(count == 25);
}
