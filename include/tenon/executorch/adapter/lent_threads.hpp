// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>
#include <executorch/runtime/core/function_ref.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "tenon/executorch/error.hpp"
#include "tenon/host/layers/scheduling/thread_pool.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace bridge::adapter {

/// ExecuTorch's pool, which is one for the process, as plugins see it. It runs the work of one
/// caller at a time; what is called from inside of its work, on the calling thread.
class LentThreads final : public host::ThreadPool {
 public:
  /// Makes ExecuTorch's pool, if it is not there yet. Null in a process without it: an application
  /// that is linked without `libexecutorch_threadpool.so`.
  [[nodiscard]] static const tenon_thread_pool* find() {
    static const LentThreads* const pool = open();  // As long as the process, as ExecuTorch's.
    return pool ? pool->table() : nullptr;
  }

 private:
  // Declared in <executorch/runtime/kernel/thread_parallel_interface.h>, for code that is linked
  // with the library. Here they are looked for, since most applications lack it.
  using Count = std::int64_t (*)();
  using Run = bool (*)(std::int64_t, std::int64_t, std::int64_t,
                       et::FunctionRef<void(std::int64_t, std::int64_t)>);

  /// Marks a thread while it computes.
  class Inside {
   public:
    explicit Inside(bool& mark) noexcept : mark_(mark) { mark_ = true; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    ~Inside() { mark_ = false; }

   private:
    bool& mark_;
  };

  LentThreads(std::uint32_t num_threads, Run run_on) : ThreadPool(num_threads), run_(run_on) {}

  static const LentThreads* open() {
    // A library that Python loaded is not in the global scope. It is never closed.
    void* const library = ::dlopen("libexecutorch_threadpool.so", RTLD_LAZY | RTLD_NOLOAD);
    void* const scope = library ? library : RTLD_DEFAULT;
    const auto count =
        reinterpret_cast<Count>(::dlsym(scope, "_ZN10executorch9extension16get_thread_countEv"));
    const auto run_on = reinterpret_cast<Run>(::dlsym(
        scope, "_ZN10executorch9extension12parallel_forElllNS_7runtime11FunctionRefIFvllEEE"));
    if (!count || !run_on) return nullptr;
    const std::int64_t num_threads = std::clamp<std::int64_t>(count(), 1, 1 << 16);
    return new LentThreads(static_cast<std::uint32_t>(num_threads), run_on);
  }

  tenon_status run(std::uint64_t n, std::uint64_t grain, const host::RangeTask& task) override {
    // A call from inside of the pool's work would wait for that work.
    thread_local bool is_inside = false;
    if (is_inside) return task(0, 0, n);
    // ExecuTorch's own ranges may begin anywhere: it divides numbers of whole ranges instead, not
    // more of them than `num_threads`, also where its pool was made larger since. The number of a
    // range serves as a worker's number, because ExecuTorch does not number its threads.
    const std::uint64_t grains = (n - 1) / grain + 1;
    const std::uint64_t ranges = std::min<std::uint64_t>(grains, num_threads());
    const std::uint64_t each = (grains - 1) / ranges + 1;
    std::atomic<tenon_status> outcome = TENON_STATUS_OK;
    const auto work = [&](std::int64_t begin, std::int64_t end) {
      const Inside inside(is_inside);
      for (auto i = static_cast<std::uint64_t>(begin); i < static_cast<std::uint64_t>(end); ++i) {
        const std::uint64_t first = i * each;
        if (first >= grains || outcome.load(std::memory_order_relaxed) != TENON_STATUS_OK) return;
        const std::uint64_t last = std::min(first + each, grains);
        const tenon_status status =
            task(static_cast<std::uint32_t>(i), first * grain, last == grains ? n : last * grain);
        tenon_status none = TENON_STATUS_OK;
        if (status != TENON_STATUS_OK) outcome.compare_exchange_strong(none, status);
      }
    };
    if (!run_(0, static_cast<std::int64_t>(ranges), 1, work)) return TENON_STATUS_INTERNAL;
    return outcome;
  }

  Run run_;
};

}}}  // namespace tenon::TENON_RELEASE::bridge::adapter
