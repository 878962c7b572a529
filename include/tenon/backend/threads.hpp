// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/abi/extensions/threads.h"
#include "tenon/backend/context.hpp"
#include "tenon/backend/host_services.hpp"
#include "tenon/core/application/thread_pool.hpp"

namespace tenon {

/// Where a backend gets the application's threads from: a member, set in `open`.
///
///     Status open() { threads_ = tenon::Threads(host()); return tenon::ok(); }
///     Status execute(ExecutionContext& context, ...) {
///       const tenon::ThreadPool pool = threads_.of(context);
///       return pool.parallel_for(rows, 16, [&](std::uint64_t begin, std::uint64_t end) { ... });
///
/// Where the application gave no threads, all is done on the calling one; a backend that has
/// threads of its own for this case asks `exists`.
class Threads {
 public:
  /// Of a host that gives no threads.
  Threads() noexcept = default;
  explicit Threads(const HostServices& host) noexcept
      : table_(host.extension<tenon_threads_v1>(TENON_EXTENSION_THREADS)) {}

  /// The threads of the call of `execute`, `start` or `run_kernel` that got `context`: to be used
  /// until it returns (TN-THR-1).
  [[nodiscard]] ThreadPool of(const ExecutionContext& context) const noexcept {
    return table_ ? ThreadPool(table_->get_pool(&context.raw())) : ThreadPool();
  }

  /// The same of a call of `init`, also for a backend whose library has threads of its own: it
  /// limits them to `num_threads` where the pool `exists`.
  [[nodiscard]] ThreadPool of(const InitContext& context) const noexcept {
    return table_ ? ThreadPool(table_->get_pool_of_init(&context.raw())) : ThreadPool();
  }

 private:
  const tenon_threads_v1* table_ = nullptr;
};

}  // namespace tenon
