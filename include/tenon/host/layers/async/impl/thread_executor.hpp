// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/async/thread_executor.hpp"

#include <new>
#include <system_error>

namespace tenon { inline namespace TENON_RELEASE { namespace host {

Result<std::unique_ptr<ThreadExecutor>> ThreadExecutor::create(std::size_t num_threads,
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

ThreadExecutor::~ThreadExecutor() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Status ThreadExecutor::add(Executor::Task task) {
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

Result<Executor::Wake> ThreadExecutor::park(Executor::Task task) {
  // Its place in the queue is made here, so that waking cannot fail.
  const auto place = std::make_shared<std::list<Executor::Task>>();
  place->push_back(std::move(task));
  return Executor::Wake([this, place] {
    const std::lock_guard lock(mutex_);
    waiting_.splice(waiting_.end(), *place);
    // Under the lock, because the task may be run and the executor destroyed once it is released.
    changed_.notify_one();
  });
}

void ThreadExecutor::run_tasks() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    {
      const Executor::Task task = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      task();
    }
    lock.lock();
  }
}

}}}  // namespace tenon::TENON_RELEASE::host
