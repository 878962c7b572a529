// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>

#include "tenon/abi/extensions/threads.h"
#include "tenon/core/status.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// The application's threads, as plugins and applications call them. Small, to be copied.
class ThreadPool {
 public:
  /// Without threads: work is done on the calling one.
  ThreadPool() noexcept = default;
  explicit ThreadPool(const tenon_thread_pool* pool) noexcept : pool_(pool) {}

  /// Whether the application gave a pool at all.
  [[nodiscard]] bool exists() const noexcept { return pool_ != nullptr; }

  /// Threads that compute at once, of all that use the pool.
  [[nodiscard]] std::uint32_t num_threads() const noexcept {
    return pool_ ? pool_->num_threads : 1;
  }

  /// Calls `f(begin, end)`, or `f(worker, begin, end)`, for ranges that together are the numbers
  /// below `n`, each of them once, at once on several threads and on this one; returns when all
  /// calls have. A range begins at a multiple of `grain`, and may have any length. `f` returns
  /// nothing or a Status; calls of it do not wait for each other, and may call `parallel_for`.
  ///
  /// `worker` is a number below `num_threads()`. Two calls of `f` that run at the same time have
  /// two numbers, so that `num_threads()` pieces of memory are enough for one `parallel_for`. One
  /// from inside of `f` has numbers of its own, and needs memory of its own.
  ///
  /// errors: the first failure of `f`, or the pool's failure. The first exception that leaves `f`
  /// is thrown here. After either, work that has not begun may be left out.
  template <class F>
  Status parallel_for(std::uint64_t n, std::uint64_t grain, F&& f) const {
    if (n == 0) return ok();
    Call<std::remove_reference_t<F>> call{f};
    const tenon_status status =
        pool_ ? pool_->parallel_for(pool_, n, grain, &call.run, &call) : call.run(&call, 0, 0, n);
    if (call.thrown) std::rethrow_exception(std::move(call.thrown));
    if (!call.failure.ok() || status == TENON_STATUS_OK) return std::move(call.failure);
    return error(error_from_status(status),
                 "the thread pool failed in parallel_for and gave no reason");
  }

 private:
  template <class F>
  struct Call {
    F& f;
    std::atomic<bool> failed = false;
    Status failure{};             ///< Written by the first that sets `failed`,
    std::exception_ptr thrown{};  ///< and so is this.

    /// Calls `f` in the form that it has.
    decltype(auto) operator()(std::uint32_t worker, std::uint64_t begin, std::uint64_t end) {
      if constexpr (std::is_invocable_v<F&, std::uint32_t, std::uint64_t, std::uint64_t>) {
        return f(worker, begin, end);
      } else {
        return f(begin, end);
      }
    }

    static tenon_status run(void* data, std::uint32_t worker, std::uint64_t begin,
                            std::uint64_t end) noexcept {
      Call& self = *static_cast<Call*>(data);
      try {
        if constexpr (std::is_void_v<decltype(self(worker, begin, end))>) {
          self(worker, begin, end);
        } else if (Status outcome = self(worker, begin, end); !outcome.ok()) {
          const tenon_status status = to_status(outcome.error());
          if (!self.failed.exchange(true)) self.failure = std::move(outcome);
          return status;
        }
        return TENON_STATUS_OK;
      } catch (...) {
        if (!self.failed.exchange(true)) self.thrown = std::current_exception();
        return TENON_STATUS_INTERNAL;
      }
    }
  };

  const tenon_thread_pool* pool_ = nullptr;
};

}}  // namespace tenon::TENON_RELEASE
