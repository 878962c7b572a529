// SPDX-License-Identifier: MIT
#include "long_work.hpp"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "interpreter.hpp"

namespace tenon::python {

namespace nb = nanobind;

namespace {

/// The end of work on another thread.
class Job {
 public:
  /// On that thread. What `work` throws is kept.
  void run(std::function<void()>&& work) {
    try {
      work();
    } catch (...) {
      failure_ = std::current_exception();
    }
    // All that it owns is destroyed before it counts as ended, except its result.
    work = nullptr;
    const std::scoped_lock lock(mutex_);
    is_done_ = true;
    ended_.notify_all();
  }

  /// Whether it has ended, at the latest after `time`. Without the GIL.
  [[nodiscard]] bool wait_for(std::chrono::milliseconds time) {
    const ReleasedGil release;
    std::unique_lock lock(mutex_);
    return ended_.wait_for(lock, time, [this] { return is_done_; });
  }

  /// Once it has ended.
  void rethrow_failure() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_done_ = false;
  std::exception_ptr failure_;
};

std::mutex interrupted_mutex;
std::vector<std::thread> interrupted;

}  // namespace

void run_interruptibly(std::function<void()> work, const std::function<void()>& progress) {
  const auto job = std::make_shared<Job>();
  std::thread thread([job, work = std::move(work)]() mutable { job->run(std::move(work)); });
  try {
    for (bool is_done = false; !is_done;) {
      is_done = job->wait_for(std::chrono::milliseconds(100));
      if (progress) progress();
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
  } catch (...) {
    const std::scoped_lock lock(interrupted_mutex);
    interrupted.push_back(std::move(thread));
    throw;
  }
  thread.join();
  job->rethrow_failure();
}

void run_cancellably(const std::function<void()>& work, const std::function<void()>& cancel) {
  Job job;
  std::thread thread([&] { job.run([&] { work(); }); });
  bool was_interrupted = false;
  while (!was_interrupted && !job.wait_for(std::chrono::milliseconds(20))) {
    was_interrupted = PyErr_CheckSignals() != 0;
  }
  if (was_interrupted) {
    const nb::python_error raised;  // Taken, since `cancel` may call into Python's runtime.
    {
      const ReleasedGil release;
      cancel();
      thread.join();
    }
    throw nb::python_error(raised);
  }
  thread.join();
  job.rethrow_failure();
}

void wait_for_interrupted_work() {
  const ReleasedGil release;
  std::vector<std::thread> threads;
  {
    const std::scoped_lock lock(interrupted_mutex);
    threads.swap(interrupted);
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tenon::python
