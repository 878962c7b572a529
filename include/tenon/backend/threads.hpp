// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/abi/extensions/threads.h"
#include "tenon/backend/context.hpp"
#include "tenon/core/application/thread_pool.hpp"

namespace tenon { inline namespace TENON_RELEASE {

template <class Derived>
class Backend;

/// The application's threads for a call of `execute`, `start` or a kernel that got `context`: to be
/// used until it returns (TN-THR-1).
///
///     Status execute(ExecutionContext& context, ...) {
///       const tenon::ThreadPool pool = tenon::threads_of(*this, context);
///       return pool.parallel_for(rows, 16, [&](std::uint64_t begin, std::uint64_t end) { ... });
///
/// Where the application gave no threads, all is done on the calling one; a backend that has
/// threads of its own for this case asks `exists`.
template <class Derived>
[[nodiscard]] ThreadPool threads_of(const Backend<Derived>& backend,
                                    const ExecutionContext& context) noexcept {
  const tenon_threads_v1* const table = host_tables_of(backend).threads;
  return table ? ThreadPool(table->get_pool(&context.raw())) : ThreadPool();
}

/// The threads of the method that `init` is called for. A backend whose library has threads of its
/// own limits them to `num_threads` where the pool `exists`.
template <class Derived>
[[nodiscard]] ThreadPool threads_of(const Backend<Derived>& backend,
                                    const InitContext& context) noexcept {
  const tenon_threads_v1* const table = host_tables_of(backend).threads;
  return table ? ThreadPool(table->get_pool_of_init(&context.raw())) : ThreadPool();
}

}}  // namespace tenon::TENON_RELEASE
