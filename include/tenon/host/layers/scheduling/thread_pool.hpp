// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "tenon/abi/extensions/threads.h"
#include "tenon/core/application/thread_pool.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/layer.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The work of one `parallel_for`, as a pool calls it: `task(worker, begin, end)`, from any thread.
/// `worker` is below the pool's `num_threads`, and differs in calls that run at the same time.
class RangeTask {
 public:
  using Function = tenon_range_function;

  RangeTask(Function function, void* data) noexcept : function_(function), data_(data) {}

  [[nodiscard]] tenon_status operator()(std::uint32_t worker, std::uint64_t begin,
                                        std::uint64_t end) const {
    return function_(data_, worker, begin, end);
  }

 private:
  Function function_;
  void* data_;
};

/// Threads of the application, on which the plugins of a method compute that use such threads
/// ("tenon.threads/1"): `.layers = {pool}`, for all methods that get the same pool. Without it each
/// plugin has threads of its own, or none. A class derived from this one is how an application
/// lends the pool that it has. `WorkerPool` is one for applications without.
///
/// Threads: any. Must outlive the methods that use it.
class ThreadPool : public MethodLayer {
 public:
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool() override = default;

  [[nodiscard]] std::uint32_t num_threads() const noexcept { return table_.num_threads; }

  /// See tenon::ThreadPool.
  template <class F>
  Status parallel_for(std::uint64_t n, std::uint64_t grain, F&& f) const {
    return tenon::ThreadPool(&table_).parallel_for(n, grain, std::forward<F>(f));
  }

  [[nodiscard]] Result<std::unique_ptr<detail::MethodPart>> attach(
      detail::LoadRequest& request) const final;

  /// The pool as plugins see it. Valid as long as this.
  [[nodiscard]] const tenon_thread_pool* table() const noexcept { return &table_; }

 protected:
  /// `num_threads` is the most calls of a task that run at once, from all callers together; 0 is
  /// the same as 1. `processors` are those on which the threads run, where that is fixed.
  explicit ThreadPool(std::uint32_t num_threads, std::vector<std::uint32_t> processors = {})
      : processors_(std::move(processors)) {
    static_cast<tenon_thread_pool&>(table_) = {sizeof(tenon_thread_pool),
                                               std::max(num_threads, std::uint32_t{1}),
                                               processors_.empty() ? nullptr : processors_.data(),
                                               static_cast<std::uint32_t>(processors_.size()),
                                               0,
                                               &parallel_for_of};
    table_.owner = this;
  }

 private:
  /// Calls `task` for ranges that together are the numbers below `n`, which is not 0, each of them
  /// once, and returns when all calls have. A range begins at a multiple of `grain`, which is not
  /// 0. Returns the failure of `task` that came first; what was not begun by then may be left out.
  /// An exception counts as a failure.
  ///
  /// Each call of `task` gets the number of a worker, below `num_threads` (TN-THR-6): the number of
  /// its thread, where no thread begins a second call of a `task` inside of one. A pool that does
  /// not number its threads divides the work into at most `num_threads` ranges, and numbers those.
  ///
  /// Is called from several threads at once, and from inside of `task` (TN-THR-5).
  [[nodiscard]] virtual tenon_status run(std::uint64_t n, std::uint64_t grain,
                                         const RangeTask& task) = 0;

  static tenon_status parallel_for_of(const tenon_thread_pool* pool, std::uint64_t n,
                                      std::uint64_t grain, RangeTask::Function function,
                                      void* data) noexcept {
    if (n == 0) return TENON_STATUS_OK;
    try {
      return static_cast<const Table*>(pool)->owner->run(n, std::max(grain, std::uint64_t{1}),
                                                         RangeTask(function, data));
    } catch (const std::bad_alloc&) {
      return TENON_STATUS_MEMORY_ALLOCATION_FAILED;
    } catch (...) {
      return TENON_STATUS_INTERNAL;
    }
  }

  struct Table : tenon_thread_pool {
    ThreadPool* owner = nullptr;
  };

  std::vector<std::uint32_t> processors_;
  Table table_{};
};

}}}  // namespace tenon::TENON_RELEASE::host
