// SPDX-License-Identifier: MIT
//
// Asynchronous runs, cancellation and threads of the C interface.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "c_support.hpp"

using namespace tenon::test;
using Vector = std::vector<float>;

namespace {

ExecutorHandle threads(std::uint32_t count) {
  tenon_executor* out = nullptr;
  call(&tenon_executor_create, count, std::uint64_t{0}, &out);
  return ExecutorHandle(out);
}

/// Waits for one completion.
class Outcome {
 public:
  tenon_status wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done_; });
    return status_;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

  static void complete(void* data, tenon_method*, tenon_status status, tenon_error* error) {
    auto& self = *static_cast<Outcome*>(data);
    const ErrorHandle owned(error);
    const std::lock_guard lock(self.mutex_);
    self.done_ = true;
    self.status_ = status;
    if (error) self.text_ = tenon_error_text(error);
    self.changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  tenon_status status_ = TENON_STATUS_OK;
  std::string text_;
};

/// Runs of one method, of which each starts the next one and the last destroys the method.
struct Chain {
  static constexpr int length = 20;

  void start(MethodHandle method) {
    call(&tenon_method_execute_async, method.release(), &next, static_cast<void*>(this));
  }

  std::atomic<int> runs = 0;
  Outcome end;

 private:
  static void next(void* data, tenon_method* method, tenon_status status, tenon_error* error) {
    auto& self = *static_cast<Chain*>(data);
    if (++self.runs < length && status == TENON_STATUS_OK) {
      tenon_method_execute_async(method, &next, data, nullptr);
      return;
    }
    tenon_method_destroy(method);
    Outcome::complete(&self.end, nullptr, status, error);
  }
};

/// A method with an executor, whose input is set.
struct Asynchronous {
  explicit Asynchronous(const std::string& blob, const tenon_executor* executor,
                        std::uint32_t flags = 0) {
    const auto registry = counting_registry();
    auto options = sized<tenon_method_options>();
    options.registry = registry.get();
    options.executor = executor;
    options.flags = flags;
    method = load(blob, options);
    const tenon_dl_tensor* const tensor = &input.tensor();
    call(&tenon_method_set_input, method.get(), std::uint64_t{0}, tensor);
  }

  Floats input{{1, 2, 3, 4}};
  MethodHandle method;
};

void start(tenon_method* method, Outcome& outcome) {
  call(&tenon_method_execute_async, method, &Outcome::complete, static_cast<void*>(&outcome));
}

/// An executor of the application that keeps its tasks.
struct Queue {
  std::vector<tenon_task*> tasks;
  int released = 0;
  tenon_status answer = TENON_STATUS_OK;

  static tenon_status submit(void* data, tenon_task* task) {
    auto& self = *static_cast<Queue*>(data);
    if (self.answer == TENON_STATUS_OK) self.tasks.push_back(task);
    return self.answer;
  }
  static void release(void* data) { ++static_cast<Queue*>(data)->released; }

  ExecutorHandle executor() {
    tenon_executor* out = nullptr;
    call(&tenon_executor_create_custom, &submit, &release, static_cast<void*>(this), &out);
    return ExecutorHandle(out);
  }
};

}  // namespace

TEST_CASE("an asynchronous run completes on the executor", "[c][threads]") {
  auto executor = threads(2);
  Asynchronous good("count", executor.get());
  Asynchronous bad("fail", executor.get());
  executor.reset();  // The methods keep it.
  Outcome first, second;
  start(good.method.get(), first);
  start(bad.method.get(), second);
  CHECK(first.wait() == TENON_STATUS_OK);
  CHECK(output(good.method.get()) == Vector{2, 3, 4, 5});
  CHECK(second.wait() == TENON_STATUS_INVALID_STATE);
  CHECK_THAT(second.text(), ContainsSubstring("failed as it was asked"));
}

TEST_CASE("runs that are started wait for no thread of the executor", "[c][threads]") {
  const auto registry = new_registry();
  call(&tenon_registry_register_plugin, registry.get(), TENON_TEST_LATER,
       static_cast<const char*>(nullptr));
  auto executor = threads(1);
  auto options = sized<tenon_method_options>();
  options.registry = registry.get();
  options.executor = executor.get();
  std::deque<Floats> inputs;
  std::deque<Chain> chains(4);
  for (Chain& chain : chains) {
    auto method = load(program_of("copy a", "Later").get(), options);
    const tenon_dl_tensor* const input =
        &inputs.emplace_back(std::array<float, 4>{1, 2, 3, 4}).tensor();
    call(&tenon_method_set_input, method.get(), std::uint64_t{0}, input);
    chain.start(std::move(method));
  }
  executor.reset();  // Its last holder is destroyed on its own thread.
  for (Chain& chain : chains) {
    CHECK(chain.end.wait() == TENON_STATUS_OK);
    CHECK(chain.runs == Chain::length);
  }
}

TEST_CASE("an executor of the application runs, drops or refuses tasks", "[c]") {
  Queue queue;
  auto executor = queue.executor();
  Asynchronous run("count", executor.get());
  executor.reset();
  Outcome done, dropped, refused;
  start(run.method.get(), done);
  REQUIRE(queue.tasks.size() == 1);
  const auto pending = failed(&tenon_method_execute_async, run.method.get(), &Outcome::complete,
                              static_cast<void*>(&refused));
  CHECK(pending.status == TENON_STATUS_INVALID_STATE);
  CHECK(failed(&tenon_method_execute, run.method.get()).status == TENON_STATUS_INVALID_STATE);
  CHECK(failed(&tenon_method_use_session, run.method.get(), static_cast<tenon_session*>(nullptr))
            .status == TENON_STATUS_INVALID_STATE);
  tenon_task_run(queue.tasks[0]);
  CHECK(done.wait() == TENON_STATUS_OK);
  CHECK(output(run.method.get()) == Vector{2, 3, 4, 5});

  start(run.method.get(), dropped);
  tenon_task_drop(queue.tasks[1]);
  CHECK(dropped.wait() != TENON_STATUS_OK);

  queue.answer = TENON_STATUS_OUT_OF_RESOURCES;
  const auto failure = failed(&tenon_method_execute_async, run.method.get(), &Outcome::complete,
                              static_cast<void*>(&refused));
  CHECK(failure.status == TENON_STATUS_OUT_OF_RESOURCES);
  CHECK_THAT(failure.text, ContainsSubstring("executor"));
  queue.answer = TENON_STATUS_OK;
  CHECK(queue.released == 0);
  run.method.reset();
  CHECK(queue.released == 1);
}

TEST_CASE("a completion may start the next run, and destroy the method", "[c][threads]") {
  Chain chain;
  auto executor = threads(1);
  Asynchronous run("count", executor.get());
  executor.reset();  // Its last holder is destroyed on its own thread.
  chain.start(std::move(run.method));
  CHECK(chain.end.wait() == TENON_STATUS_OK);
  CHECK(chain.runs == Chain::length);
}

TEST_CASE("a completion inside of other completions destroys any of their methods", "[c]") {
  // Three runs, each started by the completion of the one before it: of one method, or of three.
  struct Nested {
    std::vector<tenon_method*> methods;
    tenon_method* destroyed = nullptr;
    int completed = 0;
    static void next(void* data, tenon_method*, tenon_status status, tenon_error* error) {
      auto& self = *static_cast<Nested*>(data);
      const ErrorHandle owned(error);
      CHECK(status == TENON_STATUS_OK);
      if (++self.completed == 3) return tenon_method_destroy(self.destroyed);
      start(self);
    }
    static void start(Nested& self) {
      tenon_method* const method =
          self.methods[static_cast<std::size_t>(self.completed) % self.methods.size()];
      call(&tenon_method_execute_async, method, &next, static_cast<void*>(&self));
    }
  };
  tenon_executor* at_once = nullptr;
  tenon_status (*const submit)(void*, tenon_task*) = [](void*, tenon_task* task) {
    tenon_task_run(task);
    return tenon_status{TENON_STATUS_OK};
  };
  void (*const no_release)(void*) = nullptr;
  call(&tenon_executor_create_custom, submit, no_release, static_cast<void*>(nullptr), &at_once);
  const ExecutorHandle executor(at_once);
  for (const std::size_t count : {1u, 3u}) {
    for (std::size_t destroyed = 0; destroyed < count; ++destroyed) {
      CAPTURE(count, destroyed);
      std::deque<Asynchronous> runs;
      Nested nested;
      for (std::size_t i = 0; i < count; ++i) {
        nested.methods.push_back(runs.emplace_back("count", executor.get()).method.get());
      }
      nested.destroyed = runs[destroyed].method.release();
      Nested::start(nested);
      CHECK(nested.completed == 3);
    }
  }
}

TEST_CASE("destroying a method waits for its completion, also with sessions left", "[c][threads]") {
  const auto executor = threads(1);
  for (const bool with_session : {false, true}) {
    Asynchronous run("wait", executor.get(), TENON_METHOD_CANCELLABLE);
    tenon_session* session = nullptr;
    if (with_session)
      call(&tenon_method_create_session, run.method.get(), no_session_options, &session);
    std::atomic<bool> completed = false;
    const auto complete = [](void* data, tenon_method*, tenon_status, tenon_error* error) {
      tenon_error_destroy(error);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      *static_cast<std::atomic<bool>*>(data) = true;
    };
    void (*const pointer)(void*, tenon_method*, tenon_status, tenon_error*) = complete;
    call(&tenon_method_execute_async, run.method.get(), pointer, static_cast<void*>(&completed));
    call(&tenon_method_cancel, run.method.get());
    run.method.reset();
    CHECK(completed);
    tenon_session_destroy(session);
  }
}

TEST_CASE("a run is cancelled from another thread", "[c][threads]") {
  const auto executor = threads(1);
  Asynchronous run("wait", executor.get(), TENON_METHOD_CANCELLABLE);
  call(&tenon_method_cancel, run.method.get());  // Without a run it does nothing.
  Outcome outcome;
  start(run.method.get(), outcome);
  call(&tenon_method_cancel, run.method.get());
  CHECK(outcome.wait() == TENON_STATUS_CANCELLED);
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    static_cast<void>(tenon_method_cancel(run.method.get(), nullptr));
  });
  CHECK(tenon_method_execute(run.method.get(), nullptr) == TENON_STATUS_CANCELLED);
  canceller.join();

  const auto method = load("count");
  CHECK(failed(&tenon_method_cancel, method.get()).status == TENON_STATUS_INVALID_STATE);
  Outcome none;
  CHECK(failed(&tenon_method_execute_async, method.get(), &Outcome::complete,
               static_cast<void*>(&none))
            .status == TENON_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("a limit in time ends a run", "[c][threads]") {
  const auto registry = counting_registry();
  auto options = sized<tenon_method_options>();
  options.registry = registry.get();
  options.flags = TENON_METHOD_CANCELLABLE;
  const char* const limits[] = {"run_milliseconds=10"};
  options.limits = limits;
  options.num_limits = 1;
  const auto method = load("wait", options);
  Floats input({1, 2, 3, 4});
  const tenon_dl_tensor* const tensor = &input.tensor();
  call(&tenon_method_set_input, method.get(), std::uint64_t{0}, tensor);
  CHECK(failed(&tenon_method_execute, method.get()).status == TENON_STATUS_OUT_OF_RESOURCES);
}

TEST_CASE("sessions are destroyed by another thread than the one that runs their method",
          "[c][threads]") {
  const auto method = load("count");
  std::vector<tenon_session*> sessions(50);
  for (tenon_session*& session : sessions) {
    call(&tenon_method_create_session, method.get(), no_session_options, &session);
  }
  std::thread collector([&] {
    for (tenon_session* session : sessions) tenon_session_destroy(session);
  });
  Vector last;
  for (int i = 0; i < 50; ++i) last = run(method.get());
  collector.join();
  CHECK(last == Vector{51, 52, 53, 54});
  CHECK(run(method.get()) == Vector{52, 53, 54, 55});
}

TEST_CASE("threads share a registry and a program, each with a method", "[c][threads]") {
  const auto registry = counting_registry();
  const auto program = program_of("count");
  std::atomic<int> wrong = 0;
  std::vector<std::thread> workers;
  for (int t = 0; t < 4; ++t) {
    workers.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        tenon_method_options options{};
        options.struct_size = sizeof options;
        options.registry = registry.get();
        tenon_method* method = nullptr;
        tenon_error* error = nullptr;
        if (tenon_method_load(program.get(), "forward", &options, &method, &error) != 0) ++wrong;
        Floats input({1, 2, 3, 4});
        if (tenon_method_set_input(method, 0, &input.tensor(), nullptr) != 0) ++wrong;
        if (tenon_method_execute(method, nullptr) != 0) ++wrong;
        const auto* const data =
            static_cast<const float*>(tenon_method_get_output(method, 0)->as.tensor->dl.data);
        if (data[0] != 2 || data[3] != 5) ++wrong;
        if (tenon_method_set_input(method, 7, &input.tensor(), &error) == 0) ++wrong;
        if (tenon_error_status(error) != TENON_STATUS_INVALID_ARGUMENT) ++wrong;
        tenon_error_destroy(error);
        tenon_method_destroy(method);
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  CHECK(wrong == 0);
}
