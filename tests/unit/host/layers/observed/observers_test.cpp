// SPDX-License-Identifier: MIT
//
// Layers that see the runs of a method: their order, what they may change, and the end of a method
// whose run is pending.
#include <cstddef>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/abi/status.h"
#include "tenon/host/layers/observed/impl/run_observer.hpp"
#include "tenon/host/layers/observed/impl/run_observers.hpp"
#include "tenon/host/loader/impl/method/loading.hpp"
#include "unit/host/layers/async/async_support.hpp"

using namespace tenon;
using namespace tenon::test;
using host::detail::Instruction;
using host::detail::Loading;
using host::detail::MethodPart;
using host::detail::MethodState;
using host::detail::Observation;
using host::detail::PartOf;

namespace observers_test {

/// The results of an observer in the next runs.
struct Behaviour {
  bool begins = true;                     ///< The result of `begin_run`.
  std::size_t most = 100;                 ///< Instructions that may begin.
  tenon_status result = TENON_STATUS_OK;  ///< In place of the status of a call that is OK.
  bool adds_text = false;                 ///< To the outcome of a run that failed.
};

/// A layer that notes each call of its observer in a list.
class Noting final : public host::MethodLayer {
 public:
  Noting(std::string name, Strings& notes, const Behaviour& behaviour)
      : name_(std::move(name)), notes_(notes), behaviour_(behaviour) {}

  [[nodiscard]] Result<std::unique_ptr<MethodPart>> attach(
      host::detail::LoadRequest&) const override {
    return std::make_unique<Part>(*this);
  }

 private:
  class Part final : public PartOf<Part>, public host::detail::RunObserver {
   public:
    explicit Part(const Noting& layer) noexcept : layer_(layer) {}

    Status before_load(Loading& loading) override {
      observe(loading.method, *this, {.may_refuse = true, .sees_instructions = true});
      return ok();
    }

    bool begin_run(MethodState&) noexcept override {
      note("begin_run");
      num_begun_ = 0;
      return layer_.behaviour_.begins;
    }
    Status end_run(MethodState&, Status outcome) override {
      note("end_run");
      if (outcome.ok() || !layer_.behaviour_.adds_text) return outcome;
      return std::move(outcome).with_context(layer_.name_);
    }
    void run_over(MethodState&) noexcept override { note("run_over"); }
    void begin_instructions(MethodState&) noexcept override { note("begin_instructions"); }
    Status end_instructions(MethodState&, Status outcome) override {
      note("end_instructions");
      return outcome;
    }
    bool may_begin(MethodState&) noexcept override {
      note("may_begin");
      return num_begun_++ < layer_.behaviour_.most;
    }
    Status refusal(MethodState&, std::size_t chain, std::size_t index) override {
      return error(Error::AccessFailed, layer_.name_, " refuses ", chain, ":", index);
    }
    void begin(MethodState&, const Instruction&) override { note("begin"); }
    tenon_status result(MethodState&, const Instruction&, tenon_status status) noexcept override {
      note("result");
      return status == TENON_STATUS_OK ? layer_.behaviour_.result : status;
    }
    void end(MethodState&, const Instruction&, std::size_t, std::size_t) override { note("end"); }

   private:
    void note(const char* function) const { layer_.notes_.push_back(layer_.name_ + function); }

    const Noting& layer_;
    std::size_t num_begun_ = 0;
  };

  const std::string name_;
  Strings& notes_;
  const Behaviour& behaviour_;
};

/// A method with the observers "a " and "b ".
struct Observed {
  explicit Observed(const std::vector<std::string>& blobs,
                    host::MethodOptions options = with_registry()) {
    options.layers.add(first);
    options.layers.add(second);
    method = load_ok(chain_of(blobs), std::move(options));
    REQUIRE(set_floats(*method, 0, one_to_four, four).ok());
  }

  Strings notes;
  Behaviour a, b;
  Noting first{"a ", notes, a};
  Noting second{"b ", notes, b};
  std::unique_ptr<host::Method> method;
};

/// The notes of both observers about calls of `functions`.
Strings of_both(const Strings& functions) {
  Strings out;
  for (const std::string& function : functions) {
    out.push_back("a " + function);
    out.push_back("b " + function);
  }
  return out;
}

}  // namespace observers_test
using namespace observers_test;

TEST_CASE("observers are called in the order in which they were added", "[method][observed]") {
  Observed observed({"scale"});
  CHECK(observed.notes.empty());
  const Strings instruction{"may_begin", "begin", "result", "end"};
  Strings whole{"begin_run", "begin_instructions"};
  whole.insert(whole.end(), instruction.begin(), instruction.end());
  whole.insert(whole.end(), {"end_instructions", "end_run", "run_over"});
  for (int i = 0; i < 2; ++i) {
    observed.notes.clear();
    CHECK(observed.method->execute().ok());
    CHECK(observed.notes == of_both(whole));
  }
}

TEST_CASE("an asynchronous run is observed from its start to its end",
          "[method][observed][async]") {
  TaskQueue queue;
  Outcomes outcomes;
  host::MethodOptions options = async_options(queue.executor());
  Observed observed({"scale"}, std::move(options));
  REQUIRE(observed.method->execute_async(outcomes.completion()).ok());
  CHECK(observed.notes == of_both({"begin_run"}));
  observed.notes.clear();
  queue.run_all();
  REQUIRE(outcomes.all.size() == 1);
  CHECK(outcomes.all[0].ok());
  CHECK(observed.notes == of_both({"begin_instructions", "may_begin", "begin", "result", "end",
                                   "end_instructions", "end_run", "run_over"}));
}

TEST_CASE("the outcome of a run passes through all observers", "[method][observed]") {
  Observed observed({"scale", "fail-execute"});
  observed.a.adds_text = observed.b.adds_text = true;
  const Status failed = observed.method->execute();
  INFO(failed.text());
  CHECK(failed.text().starts_with("b : a : method forward: instruction 0:1: delegate 1 (Test)"));
  observed.a.result = TENON_STATUS_INTERNAL;
  const Status replaced = observed.method->execute();
  CHECK(replaced.error() == Error::Internal);
  INFO(replaced.text());
  CHECK(replaced.text().starts_with("b : a : method forward: instruction 0:0"));
}

TEST_CASE("an observer ends a run before an instruction, and the next run is whole",
          "[method][observed]") {
  Observed observed({"scale", "scale", "scale"});
  observed.b.most = 2;
  const Status refused = observed.method->execute();
  CHECK(refused.error() == Error::AccessFailed);
  CHECK(refused.text() == "b  refuses 0:2");
  CHECK(observed.notes.back() == "b run_over");
  observed.b.most = 3;
  CHECK(observed.method->execute().ok());
  // The limit of instructions holds as well.
  host::MethodOptions options = with_registry();
  options.limits.instructions = 2;
  Observed limited({"scale", "scale", "scale"}, std::move(options));
  const Status ended = limited.method->execute();
  CHECK(ended.error() == Error::InvalidProgram);
  CHECK_THAT(std::string(ended.text()), ContainsSubstring("0:2: more than 2 instructions"));
}

TEST_CASE("an observer refuses a run, and those before it see the end", "[method][observed]") {
  Observed observed({"scale"});
  observed.b.begins = false;
  const Status refused = observed.method->execute();
  CHECK(refused.error() == Error::InvalidState);
  CHECK_THAT(std::string(refused.text()), ContainsSubstring("a run is pending"));
  CHECK(observed.notes == Strings{"a begin_run", "b begin_run", "a end_run", "a run_over"});
  observed.b.begins = true;
  CHECK(observed.method->execute().ok());
}

TEST_CASE("an observer that is taken away sees no run, and the last one leaves the plain loop",
          "[method][observed]") {
  struct Counting final : host::detail::RunObserver {
    bool begin_run(MethodState&) noexcept override { return ++runs != 0; }
    int runs = 0;
  };
  Counting first, second;
  const auto method = load_ok(chain_of({"scale"}));
  REQUIRE(set_floats(*method, 0, one_to_four, four).ok());
  MethodState& state = host::detail::state_of(*method);
  CHECK(state.run == nullptr);
  unobserve(state, first);
  observe(state, first, {});
  observe(state, first, {});
  observe(state, second, {});
  CHECK(method->execute().ok());
  CHECK(first.runs == 1);
  unobserve(state, first);
  CHECK(method->execute().ok());
  unobserve(state, second);
  CHECK(state.run == nullptr);
  CHECK(method->execute().ok());
  CHECK(first.runs == 1);
  CHECK(second.runs == 2);
}

namespace observers_test {

/// A layer that notes the end of a method. Its first part opens a gate when the end begins.
class Ending final : public host::MethodLayer {
 public:
  Ending(std::string name, Strings& notes, std::promise<void>* gate)
      : name_(std::move(name)), notes_(notes), gate_(gate) {}

  [[nodiscard]] Result<std::unique_ptr<MethodPart>> attach(
      host::detail::LoadRequest&) const override {
    return std::make_unique<Part>(*this);
  }

 private:
  class Part final : public PartOf<Part> {
   public:
    explicit Part(const Ending& layer) noexcept : layer_(layer) {}
    void finish_runs(MethodState&) noexcept override {
      layer_.notes_.push_back(layer_.name_ + "finish_runs");
      if (layer_.gate_) layer_.gate_->set_value();
    }
    void before_destroy(MethodState&) noexcept override {
      layer_.notes_.push_back(layer_.name_ + "before_destroy");
    }

   private:
    const Ending& layer_;
  };

  const std::string name_;
  Strings& notes_;
  std::promise<void>* const gate_;
};

}  // namespace observers_test

TEST_CASE("a method whose run is pending ends when the run has, before any layer ends",
          "[method][observed][async][threads]") {
  auto threads = host::ThreadExecutor::create(1);
  REQUIRE(threads.ok());
  Strings notes;
  std::promise<void> gate;
  // The thread of the executor waits until the end of the method begins.
  const std::shared_future<void> opened = gate.get_future().share();
  REQUIRE((*threads)->executor().run([opened] { opened.wait(); }).ok());
  const Ending first("a ", notes, &gate);
  const Ending last("b ", notes, nullptr);
  host::MethodOptions options = with_registry();
  options.layers = {first, host::Async((*threads)->executor()), last};
  auto method = load_ok(chain_of({"scale"}), std::move(options));
  REQUIRE(set_floats(*method, 0, one_to_four, four).ok());
  // The first completion starts another run.
  host::Method* const running = method.get();
  REQUIRE(running
              ->execute_async([&notes, running](const Status& outcome) {
                notes.emplace_back(outcome.ok() ? "first run" : "failure");
                const Status started = running->execute_async([&notes](const Status& second) {
                  notes.emplace_back(second.ok() ? "second run" : "failure");
                });
                if (!started.ok()) notes.emplace_back(started.text());
              })
              .ok());
  method.reset();
  CHECK(notes == Strings{"a finish_runs", "first run", "second run", "b finish_runs",
                         "b before_destroy", "a before_destroy"});
}
