// SPDX-License-Identifier: MIT
#pragma once

#include <sched.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "boundary/messages.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/async/worker_pool.hpp"

namespace tenon::isolated {

/// The number of threads of a pool, and their processors, as the application's pool has them.
struct PoolSetting {
  std::uint32_t num_threads = 0;  ///< 0: no pool.
  std::vector<std::uint32_t> processors{};

  /// As `write_pool` writes it.
  [[nodiscard]] static PoolSetting read(Reader& from) {
    const auto num_threads = from.get<std::uint32_t>();
    const std::uint64_t num_processors = from.get_count(sizeof(std::uint32_t));
    return read(num_threads, num_processors, from);
  }
  /// The processors follow.
  [[nodiscard]] static PoolSetting read(std::uint32_t num_threads, std::uint64_t num_processors,
                                        Reader& from) {
    PoolSetting out;
    out.num_threads = num_threads;
    out.processors.resize(from.check_count(num_processors, sizeof(std::uint32_t)));
    from.get_array(out.processors.data(), out.processors.size());
    return out;
  }
  friend bool operator==(const PoolSetting&, const PoolSetting&) = default;
  friend auto operator<=>(const PoolSetting&, const PoolSetting&) = default;
};

/// A pool of the worker's own, set as one of the application. Where that has fixed processors, the
/// threads run on them; the thread of a call, which computes as well, is not moved.
class GuestPool : public tenon_thread_pool {
 public:
  /// errors: as `WorkerPool::create`.
  [[nodiscard]] static Result<std::shared_ptr<GuestPool>> create(const PoolSetting& setting) {
    const std::shared_ptr<GuestPool> out(new GuestPool(setting));
    cpu_set_t before;
    // Threads have the processors of the thread that makes them.
    const bool is_moved = move_to(setting.processors, before);
    auto threads = host::WorkerPool::create(setting.num_threads);
    if (is_moved) ::sched_setaffinity(0, sizeof before, &before);
    TENON_TRY(out->threads_, std::move(threads));
    return out;
  }
  GuestPool(const GuestPool&) = delete;
  GuestPool& operator=(const GuestPool&) = delete;

  [[nodiscard]] const PoolSetting& setting() const noexcept { return setting_; }

 private:
  explicit GuestPool(const PoolSetting& setting) : tenon_thread_pool{}, setting_(setting) {
    static_cast<tenon_thread_pool&>(*this) = {
        sizeof(tenon_thread_pool),
        setting_.num_threads,
        setting_.processors.empty() ? nullptr : setting_.processors.data(),
        static_cast<std::uint32_t>(setting_.processors.size()),
        0,
        &run};
  }

  static tenon_status run(const tenon_thread_pool* self, std::uint64_t n, std::uint64_t grain,
                          tenon_range_function f, void* data) noexcept {
    const tenon_thread_pool* const pool = static_cast<const GuestPool*>(self)->threads_->table();
    return pool->parallel_for(pool, n, grain, f, data);
  }

  /// False when the thread stays where it is: without a list, or where the system refuses it.
  static bool move_to(const std::vector<std::uint32_t>& processors, cpu_set_t& before) noexcept {
    if (processors.empty() || ::sched_getaffinity(0, sizeof before, &before) != 0) return false;
    cpu_set_t wanted;
    CPU_ZERO(&wanted);
    for (const std::uint32_t each : processors) {
      if (each < CPU_SETSIZE) CPU_SET(each, &wanted);
    }
    return ::sched_setaffinity(0, sizeof wanted, &wanted) == 0;
  }

  PoolSetting setting_;
  std::unique_ptr<host::WorkerPool> threads_;
};

/// The pools of the worker: delegates whose setting is the same share one, which ends with the
/// last of them.
class GuestPools {
 public:
  /// Sets `pool` to the pool of `setting`, null for none. errors: as `GuestPool::create`.
  [[nodiscard]] Status find(const PoolSetting& setting, std::shared_ptr<GuestPool>& pool) {
    if (pool ? pool->setting() == setting : setting.num_threads == 0) return ok();
    pool.reset();
    if (setting.num_threads == 0) return ok();
    if (setting.num_threads > max_threads) {
      return error(Error::OutOfResources, "a pool of ", setting.num_threads,
                   " threads, expected at most ", max_threads);
    }
    const std::lock_guard lock(mutex_);
    std::weak_ptr<GuestPool>& known = pools_[setting];
    pool = known.lock();
    if (pool) return ok();
    TENON_TRY(pool, GuestPool::create(setting));
    known = pool;
    return ok();
  }

 private:
  static constexpr std::uint32_t max_threads = 4096;

  std::mutex mutex_;
  std::map<PoolSetting, std::weak_ptr<GuestPool>> pools_;
};

}  // namespace tenon::isolated
