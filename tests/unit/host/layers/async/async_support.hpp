// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "plugins/later/later.hpp"
#include "tenon/abi/static_plugin.h"
#include "tenon/host/async.hpp"
#include "unit/host/loader/method/method_support.hpp"

TENON_DECLARE_STATIC_PLUGIN(Later);

namespace tenon::test {

/// A registry with the backends of later.cpp and test_backend.cpp.
inline const host::BackendRegistry& later_registry() {
  static host::BackendRegistry registry;
  static const bool added = registry.register_backend(tenon_static_plugin_Later).ok() &&
                            registry.register_backend(tenon_static_plugin_TestBackend).ok();
  REQUIRE(added);
  return registry;
}

/// An executor whose tasks a test runs.
class TaskQueue {
 public:
  [[nodiscard]] host::Executor executor() {
    return [this](std::function<void()> task) {
      tasks.push_back(std::move(task));
      return ok();
    };
  }
  void run_all() {
    while (!tasks.empty()) {
      const auto task = std::move(tasks.front());
      tasks.pop_front();
      task();
    }
  }

  std::deque<std::function<void()>> tasks;
};

inline host::MethodOptions async_options(host::Executor executor) {
  host::MethodOptions options;
  options.registry = &later_registry();
  options.layers.add(host::Async(std::move(executor)));
  return options;
}

/// The outcomes that completions were called with.
class Outcomes {
 public:
  [[nodiscard]] host::Completion completion() {
    return [this](Status outcome) { all.push_back(std::move(outcome)); };
  }
  std::vector<Status> all;
};

/// Starts a run and waits for its outcome.
inline Status run_async(host::Method& method) {
  // Shared, because it may be read before `set_value` has returned.
  const auto promise = std::make_shared<std::promise<Status>>();
  const Status started =
      method.execute_async([promise](Status outcome) { promise->set_value(std::move(outcome)); });
  INFO(started.text());
  REQUIRE(started.ok());
  return promise->get_future().get();
}

/// Runs each of `methods` `num_runs` times, on a thread of its own. `started` is called with a
/// method and the number of a run that has begun, and `is_right` with these and the outcome.
/// Returns the number of runs of each method that were right.
template <class Started, class IsRight>
std::vector<int> count_right_runs(const std::vector<std::unique_ptr<host::Method>>& methods,
                                  int num_runs, Started started, IsRight is_right) {
  std::vector<int> right(methods.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < methods.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int run = 0; run < num_runs; ++run) {
        const auto promise = std::make_shared<std::promise<Status>>();
        const Status begun = methods[i]->execute_async(
            [promise](Status outcome) { promise->set_value(std::move(outcome)); });
        if (!begun.ok() || !started(*methods[i], run)) return;
        const Status outcome = promise->get_future().get();
        right[i] += is_right(i, run, outcome);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return right;
}
template <class IsRight>
std::vector<int> count_right_runs(const std::vector<std::unique_ptr<host::Method>>& methods,
                                  int num_runs, IsRight is_right) {
  return count_right_runs(methods, num_runs, [](host::Method&, int) { return true; }, is_right);
}

/// A program of delegates over tensors of four floats, in places of 16 bytes of planned memory.
class FourFloats {
 public:
  explicit FourFloats(std::int64_t num_places)
      : plan_(builder.plan("forward")), memory_(plan_.buffer(16 * num_places)) {}

  std::int32_t input(std::uint64_t place) { return plan_.input(at(place)); }
  std::int32_t value(std::uint64_t place) { return plan_.value(at(place)); }
  std::int32_t output(std::uint64_t place) { return plan_.output(at(place)); }
  void is_output(std::int32_t value) { plan_.table().outputs.push_back(value); }
  /// Adds a delegate and a call of it: inputs, then the output.
  void call(const std::string& backend, const std::string& blob, std::vector<std::int32_t> args) {
    const auto delegate =
        plan_.delegate(backend, schema::DataLocation::INLINE, builder.inline_blob(blob));
    call_again(delegate, std::move(args));
  }
  void call_again(std::int32_t delegate, std::vector<std::int32_t> args) {
    plan_.instruction(delegate_call(delegate, std::move(args)));
  }

  ProgramBuilder builder;

 private:
  [[nodiscard]] schema::objects::TensorT at(std::uint64_t place) const {
    return planned_tensor(ScalarType::Float, {4}, memory_, place * 16);
  }

  PlanBuilder plan_;
  std::uint32_t memory_;
};

inline constexpr std::array<float, 4> one_to_four{1, 2, 3, 4};
inline const std::vector<std::int64_t> four{4};
using Strings = std::vector<std::string>;

}  // namespace tenon::test
