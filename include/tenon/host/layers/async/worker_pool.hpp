// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/scheduling/thread_pool.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// A fixed number of threads on which the plugins of all its methods compute, for applications that
/// have no pool of their own.
///
/// A thread that calls `parallel_for` computes, too, so that a pool of 1 has no threads of its own.
/// No more than `num_threads` calls of tasks run at once, from all callers together: a caller from
/// outside waits while all are taken. A task must therefore not wait for what another thread does
/// in a `parallel_for` of the same pool. Calls from inside of a task do not deadlock.
class WorkerPool final : public ThreadPool {
 public:
  /// errors: InvalidArgument (no threads), OutOfResources (the system has no more threads),
  ///         MemoryAllocationFailed.
  [[nodiscard]] static Result<std::unique_ptr<WorkerPool>> create(std::uint32_t num_threads);

  /// Ends the threads. No `parallel_for` may be running.
  ~WorkerPool() override;

 private:
  struct Job;
  struct Place;

  explicit WorkerPool(std::uint32_t num_threads) : ThreadPool(num_threads) {}

  [[nodiscard]] tenon_status run(std::uint64_t n, std::uint64_t grain,
                                 const RangeTask& task) override;
  void work(std::uint32_t number);
  void run_range(Job& job, std::uint32_t worker, std::unique_lock<std::mutex>& lock);
  [[nodiscard]] Job* next_job() noexcept;
  void finish(Job& job, std::unique_lock<std::mutex>& lock, bool inside);
  void free_place() noexcept;

  std::mutex mutex_;
  std::condition_variable workers_wake_;
  std::condition_variable callers_wake_;
  Job* first_ = nullptr;  // Of those that are going on, in the order in which threads help.
  std::uint32_t num_waiting_ = 0;  // Callers that wait for a place.
  std::uint32_t num_taken_ = 0;    // Places of threads that compute.
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}}}  // namespace tenon::TENON_RELEASE::host
