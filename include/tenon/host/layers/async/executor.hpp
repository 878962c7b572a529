// SPDX-License-Identifier: MIT
//
// What `Method::execute_async` runs on, and its bookkeeping: the entry of this directory. Nothing
// in it knows of methods.
#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The application's way to run a task: a thread pool, an event loop, a thread of its own. It is
/// made of one function (`Run`), or of two (and `Park`). With the second one an asynchronous run
/// holds no thread of the executor while it only waits for devices.
///
/// A task that is destroyed without having been called is noticed: its run fails.
class Executor {
 public:
  using Task = std::function<void()>;

  /// Calls `task` once, on any thread, later or at once, and returns Ok; or it never calls it and
  /// returns why not. A task may wait for a device, and needs the stack of `Method::execute`.
  using Run = std::function<Status(Task task)>;

  /// Has a parked task run once, later and on another thread. The host calls it at most once, and
  /// destroys it afterwards, on any thread: also on one of a plugin or its driver, which must not
  /// wait, nor call a plugin. So it runs and destroys no task itself, waits for no task, and cannot
  /// fail; an exception ends the process (std::terminate). It does nothing for a task that the
  /// executor has destroyed.
  using Wake = std::function<void()>;

  /// Keeps `task` and returns what wakes it, or returns why not: then the task is given to `Run`. A
  /// failure, and an exception, change nothing.
  using Park = std::function<Result<Wake>(Task task)>;

  /// None.
  Executor() = default;

  /// Without `Park`: a thread of the executor waits for devices.
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, Executor> && std::is_constructible_v<Run, F>)
  Executor(F&& run) : Executor(Run(std::forward<F>(run)), Park()) {}

  Executor(Run run, Park park) {
    if (!run) return;
    functions_ = std::make_shared<const Functions>(Functions{std::move(run), std::move(park)});
  }

  /// Whether there is an executor. The functions below require one.
  explicit operator bool() const noexcept { return functions_ != nullptr; }

  [[nodiscard]] Status run(Task task) const { return functions_->run(std::move(task)); }
  [[nodiscard]] bool can_park() const noexcept { return static_cast<bool>(functions_->park); }
  /// Only when `can_park()`.
  [[nodiscard]] Result<Wake> park(Task task) const { return functions_->park(std::move(task)); }

 private:
  struct Functions {
    Run run;
    Park park;
  };
  std::shared_ptr<const Functions> functions_;  // Two pointers, since each method has them.
};

/// Receives the outcome of one asynchronous run.
using Completion = std::function<void(Status outcome)>;

}}}  // namespace tenon::TENON_RELEASE::host
