// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/async/worker_pool.hpp"

#include <algorithm>
#include <new>
#include <string_view>
#include <system_error>

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// One `parallel_for`, on the stack of its caller. All members are guarded by the pool's mutex.
struct WorkerPool::Job {
  Job(std::uint64_t count, std::uint64_t grain, std::uint32_t num_threads,
      const RangeTask& its_task) noexcept
      : task(its_task), n(count) {
    // Several ranges for each thread: a thread that begins late, or is slow, then has less to do.
    const std::uint64_t grains = (n - 1) / grain + 1;
    const std::uint64_t each = (grains - 1) / (std::uint64_t{num_threads} * 4) + 1;
    length = each > n / grain ? n : each * grain;
  }

  [[nodiscard]] bool has_more() const noexcept { return next < n && status == TENON_STATUS_OK; }
  [[nodiscard]] bool is_done() const noexcept { return !has_more() && num_running == 0; }

  const RangeTask& task;
  std::uint64_t n;
  std::uint64_t length;  ///< Of a range.
  std::uint64_t next = 0;
  std::uint32_t num_running = 0;
  tenon_status status = TENON_STATUS_OK;
  Job* after = nullptr;
};

/// While this exists, the thread computes in a place of a pool.
struct WorkerPool::Place {
  explicit Place(const WorkerPool& its_pool) noexcept : pool(&its_pool), outer(innermost()) {
    innermost() = this;
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() { innermost() = outer; }

  [[nodiscard]] static bool is_in(const WorkerPool& pool) noexcept {
    for (const Place* at = innermost(); at; at = at->outer) {
      if (at->pool == &pool) return true;
    }
    return false;
  }

  const WorkerPool* pool;
  Place* outer;

 private:
  static Place*& innermost() noexcept {
    thread_local Place* place = nullptr;
    return place;
  }
};

Result<std::unique_ptr<WorkerPool>> WorkerPool::create(std::uint32_t num_threads) {
  if (num_threads == 0) {
    return error(Error::InvalidArgument, "a pool: expected 1 thread or more, found 0");
  }
  try {
    std::unique_ptr<WorkerPool> out(new WorkerPool(num_threads));
    out->threads_.reserve(num_threads - 1);
    for (std::uint32_t i = 1; i < num_threads; ++i) {
      out->threads_.emplace_back([self = out.get(), i] { self->work(i); });
    }
    return out;
  } catch (const std::system_error& failure) {
    return error(Error::OutOfResources, "a pool of ", num_threads,
                 " threads: ", std::string_view(failure.what()));
  } catch (const std::bad_alloc&) {
    return error(Error::MemoryAllocationFailed, "a pool of ", num_threads, " threads");
  }
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  workers_wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

tenon_status WorkerPool::run(std::uint64_t n, std::uint64_t grain, const RangeTask& task) {
  const bool inside = Place::is_in(*this);
  Job job(n, grain, num_threads(), task);
  std::unique_lock lock(mutex_);
  Job** end = &first_;
  while (*end) end = &(*end)->after;
  *end = &job;
  if (job.length < n) workers_wake_.notify_all();
  finish(job, lock, inside);
  for (end = &first_; *end != &job;) end = &(*end)->after;
  *end = job.after;
  return job.status;
}

/// Computes on the calling thread, which has a place when it is `inside`, until `job` is done.
void WorkerPool::finish(Job& job, std::unique_lock<std::mutex>& lock, bool inside) {
  const auto is_place_free = [this] { return num_taken_ < num_threads(); };
  bool has_place = inside;
  while (!job.is_done()) {
    if (!has_place) {
      const std::uint32_t waits_for_place = job.has_more() ? 1 : 0;
      num_waiting_ += waits_for_place;
      callers_wake_.wait(lock,
                         [&] { return job.is_done() || (job.has_more() && is_place_free()); });
      num_waiting_ -= waits_for_place;
      if (job.is_done()) {
        if (waits_for_place != 0) workers_wake_.notify_one();  // They may begin again.
        break;
      }
      ++num_taken_;
      has_place = true;
    }
    if (job.has_more()) {
      run_range(job, 0, lock);
    } else {
      // Others may compute while this thread waits for those that have the last ranges.
      free_place();
      has_place = false;
    }
  }
  if (has_place == inside) return;
  if (has_place) return free_place();
  callers_wake_.wait(lock, is_place_free);
  ++num_taken_;
}

/// The thread `number` of the pool, which has that number as a worker of all jobs that it helps
/// with. The caller of a job is its worker 0. Neither begins a second range of a job before it has
/// ended one: inside of a range a thread works on the range's own jobs alone, as their caller.
void WorkerPool::work(std::uint32_t number) {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    // A caller comes first: it has its work at hand, and nothing to do but that.
    Job* job = num_taken_ + num_waiting_ < num_threads() ? next_job() : nullptr;
    if (!job) {
      workers_wake_.wait(lock);
      continue;
    }
    ++num_taken_;
    for (; job; job = num_waiting_ == 0 ? next_job() : nullptr) run_range(*job, number, lock);
    free_place();
  }
}

/// Runs the next range of `job` in the place of the calling thread, which is its `worker`.
void WorkerPool::run_range(Job& job, std::uint32_t worker, std::unique_lock<std::mutex>& lock) {
  const std::uint64_t begin = job.next;
  const std::uint64_t end = job.n - begin > job.length ? begin + job.length : job.n;
  job.next = end;
  ++job.num_running;
  lock.unlock();
  tenon_status status = TENON_STATUS_OK;
  {
    const Place place(*this);
    status = job.task(worker, begin, end);
  }
  lock.lock();
  --job.num_running;
  if (job.status == TENON_STATUS_OK) job.status = status;
  if (job.is_done()) callers_wake_.notify_all();
}

/// The next job that a thread can help with, which becomes the last in the order; or null.
WorkerPool::Job* WorkerPool::next_job() noexcept {
  Job** at = &first_;
  while (*at && !(*at)->has_more()) at = &(*at)->after;
  Job* const job = *at;
  if (!job || !job->after) return job;
  *at = job->after;
  while (*at) at = &(*at)->after;
  *at = job;
  job->after = nullptr;
  return job;
}

void WorkerPool::free_place() noexcept {
  --num_taken_;
  callers_wake_.notify_all();
  workers_wake_.notify_one();
}

}}}  // namespace tenon::TENON_RELEASE::host
