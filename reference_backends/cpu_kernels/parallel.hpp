// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <utility>

#include "openmp.hpp"
#include "tenon/core/application/thread_pool.hpp"

namespace tenon::cpu_aoti {

/// The application's pool in one call of the backend, while this exists: kernels on this thread
/// compute on it and not on the threads of OpenMP, which then has none but this one.
class CallPool {
 public:
  explicit CallPool(ThreadPool pool) noexcept : pool_(pool), outer_(std::exchange(now(), this)) {}
  CallPool(const CallPool&) = delete;
  CallPool& operator=(const CallPool&) = delete;
  ~CallPool() { now() = outer_; }

  /// The calling thread's pool, or null.
  [[nodiscard]] static CallPool* current() noexcept { return now(); }

  [[nodiscard]] const ThreadPool& pool() const noexcept { return pool_; }
  /// A kernel's work was not all done: what it computed is wrong.
  void fail(Status failure) {
    if (failure_.ok()) failure_ = std::move(failure);
  }
  /// The outcome of a call of which all else ended with `outcome`.
  [[nodiscard]] Status end(Status outcome) {
    return outcome.ok() ? std::move(failure_) : std::move(outcome);
  }

 private:
  static CallPool*& now() noexcept {
    thread_local CallPool* call = nullptr;
    return call;
  }

  ThreadPool pool_;
  CallPool* outer_;
  OneThread openmp_;
  Status failure_;
};

/// The number of threads that a kernel may use.
[[nodiscard]] inline std::int64_t num_threads() noexcept {
  if (const CallPool* const call = CallPool::current()) return call->pool().num_threads();
#ifdef _OPENMP
  return ::omp_get_max_threads();
#else
  return 1;
#endif
}

/// Calls `work(i)` for each i below `count`, at once on several threads. Calls do not wait for each
/// other. With OpenMP, `count` should be `num_threads()` also where some have nothing to do: GCC's
/// runtime ends the threads that a smaller team does not need, and creates them again for the next
/// larger one.
template <class Work>
void in_parallel(std::int64_t count, const Work& work) {
  if (CallPool* const call = CallPool::current()) {
    Status outcome = call->pool().parallel_for(
        static_cast<std::uint64_t>(count), 1, [&](std::uint64_t begin, std::uint64_t end) {
          const OneThread openmp;  // Of a thread of the application, where oneDNN may be called.
          for (std::uint64_t i = begin; i < end; ++i) work(static_cast<std::int64_t>(i));
        });
    if (!outcome.ok()) call->fail(std::move(outcome));
    return;
  }
#ifdef _OPENMP
  // Without a number of threads, because each change of it ends and creates some.
#pragma omp parallel for schedule(static, 1)
#endif
  for (std::int64_t i = 0; i < count; ++i) work(i);
}

}  // namespace tenon::cpu_aoti
