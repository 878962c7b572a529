// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tenon/core/api.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/async/executor.hpp"

namespace tenon::host {

/// A fixed number of threads with one queue, for applications that have no executor of their own.
/// The host makes no threads except in here.
///
/// Threads: any. Must outlive the methods that use it.
class ThreadExecutor {
 public:
  static constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

  /// Starts `num_threads` threads. With `max_waiting` tasks in the queue a further one is refused
  /// with OutOfResources.
  ///
  /// errors: InvalidArgument (no threads), OutOfResources (the system has no more threads),
  ///         MemoryAllocationFailed.
  [[nodiscard]] static Result<std::unique_ptr<ThreadExecutor>> create(
      std::size_t num_threads, std::size_t max_waiting = no_limit);

  ThreadExecutor(const ThreadExecutor&) = delete;
  ThreadExecutor& operator=(const ThreadExecutor&) = delete;

  /// Runs the tasks that are in the queue, then ends the threads. Not from a task.
  ~ThreadExecutor();

  /// For `MethodOptions::executor`. Refers to this object.
  [[nodiscard]] Executor executor() {
    return [this](std::function<void()> task) { return add(std::move(task)); };
  }

 private:
  explicit ThreadExecutor(std::size_t max_waiting) noexcept : max_waiting_(max_waiting) {}

  [[nodiscard]] Status add(std::function<void()> task);
  void run_tasks();

  const std::size_t max_waiting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tenon::host

#if TENON_HOST_DEFINITIONS

#include <new>
#include <system_error>

namespace tenon::host {

TENON_API Result<std::unique_ptr<ThreadExecutor>> ThreadExecutor::create(std::size_t num_threads,
                                                                         std::size_t max_waiting) {
  if (num_threads == 0) {
    return error(Error::InvalidArgument, "an executor: expected 1 thread or more, found 0");
  }
  try {
    std::unique_ptr<ThreadExecutor> out(new ThreadExecutor(max_waiting));
    out->threads_.reserve(num_threads);
    for (std::size_t i = 0; i < num_threads; ++i) {
      out->threads_.emplace_back([self = out.get()] { self->run_tasks(); });
    }
    return out;
  } catch (const std::system_error& failure) {
    return error(Error::OutOfResources, "an executor of ", num_threads,
                 " threads: ", std::string_view(failure.what()));
  } catch (const std::bad_alloc&) {
    return error(Error::MemoryAllocationFailed, "an executor of ", num_threads, " threads");
  }
}

TENON_API ThreadExecutor::~ThreadExecutor() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

TENON_API Status ThreadExecutor::add(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= max_waiting_) {
      return error(Error::OutOfResources, "the executor's queue is full: ", waiting_.size(),
                   " tasks are waiting");
    }
    waiting_.push_back(std::move(task));
  }
  changed_.notify_one();
  return ok();
}

TENON_API void ThreadExecutor::run_tasks() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    {
      const std::function<void()> task = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      task();
    }
    lock.lock();
  }
}

}  // namespace tenon::host

#endif  // TENON_HOST_DEFINITIONS
