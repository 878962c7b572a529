// SPDX-License-Identifier: MIT
#include "long_work.hpp"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace tenon::python {

namespace nb = nanobind;

namespace {

struct Job {
  std::mutex mutex;
  std::condition_variable ended;
  bool is_done = false;
  std::exception_ptr failure;
};

std::mutex interrupted_mutex;
std::vector<std::thread> interrupted;

}  // namespace

void run_interruptibly(std::function<void()> work, const std::function<void()>& progress) {
  const auto job = std::make_shared<Job>();
  std::thread thread([job, work = std::move(work)]() mutable {
    try {
      work();
    } catch (...) {
      job->failure = std::current_exception();
    }
    // All that it owns is destroyed before it counts as ended, except its result.
    work = nullptr;
    const std::scoped_lock lock(job->mutex);
    job->is_done = true;
    job->ended.notify_all();
  });
  try {
    for (bool is_done = false; !is_done;) {
      {
        const nb::gil_scoped_release release;
        std::unique_lock lock(job->mutex);
        is_done = job->ended.wait_for(lock, std::chrono::milliseconds(100),
                                      [&job] { return job->is_done; });
      }
      if (progress) progress();
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
  } catch (...) {
    const std::scoped_lock lock(interrupted_mutex);
    interrupted.push_back(std::move(thread));
    throw;
  }
  thread.join();
  if (job->failure) std::rethrow_exception(job->failure);
}

void run_cancellably(const std::function<void()>& work, const std::function<void()>& cancel) {
  Job job;
  std::thread thread([&job, &work] {
    try {
      work();
    } catch (...) {
      job.failure = std::current_exception();
    }
    const std::scoped_lock lock(job.mutex);
    job.is_done = true;
    job.ended.notify_all();
  });
  const auto wait_for = [&job](std::chrono::milliseconds time) {
    const nb::gil_scoped_release release;
    std::unique_lock lock(job.mutex);
    return job.ended.wait_for(lock, time, [&job] { return job.is_done; });
  };
  bool was_interrupted = false;
  while (!was_interrupted && !wait_for(std::chrono::milliseconds(20))) {
    was_interrupted = PyErr_CheckSignals() != 0;
  }
  if (was_interrupted) {
    const nb::python_error raised;  // Taken, since `cancel` may call into Python's runtime.
    {
      const nb::gil_scoped_release release;
      cancel();
      thread.join();
    }
    throw nb::python_error(raised);
  }
  thread.join();
  if (job.failure) std::rethrow_exception(job.failure);
}

void wait_for_interrupted_work() {
  const nb::gil_scoped_release release;
  std::vector<std::thread> threads;
  {
    const std::scoped_lock lock(interrupted_mutex);
    threads.swap(interrupted);
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tenon::python
