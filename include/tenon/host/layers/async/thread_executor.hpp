// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstddef>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/async/executor.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// A fixed number of threads with one queue, for applications that have no executor of their own.
/// The host makes no threads except in here.
///
/// Threads: any. Must outlive the methods that use it.
class ThreadExecutor {
 public:
  static constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

  /// Starts `num_threads` threads. With `max_waiting` tasks in the queue, a further task is refused
  /// with OutOfResources. A parked task is not refused: it joins the queue when it is woken.
  ///
  /// errors: InvalidArgument (no threads), OutOfResources (the system has no more threads),
  ///         MemoryAllocationFailed.
  [[nodiscard]] static Result<std::unique_ptr<ThreadExecutor>> create(
      std::size_t num_threads, std::size_t max_waiting = no_limit);

  ThreadExecutor(const ThreadExecutor&) = delete;
  ThreadExecutor& operator=(const ThreadExecutor&) = delete;

  /// Runs the tasks that are in the queue, then ends the threads. Not from a task.
  ~ThreadExecutor();

  /// For the layer `Async`. Parks tasks. Refers to this object.
  [[nodiscard]] Executor executor() {
    return {[this](Executor::Task task) { return add(std::move(task)); },
            [this](Executor::Task task) { return park(std::move(task)); }};
  }

 private:
  explicit ThreadExecutor(std::size_t max_waiting) noexcept : max_waiting_(max_waiting) {}

  [[nodiscard]] Status add(Executor::Task task);
  [[nodiscard]] Result<Executor::Wake> park(Executor::Task task);
  void run_tasks();

  const std::size_t max_waiting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Executor::Task> waiting_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}}}  // namespace tenon::TENON_RELEASE::host
