// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/abi/backend.h"
#include "tenon/abi/extensions/threads.h"
#include "tenon/host/loader/plugin/calls.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

inline constexpr char threads_key = 0;

/// `pool`, which may be null, for calls that have the services `next` besides it. All must outlive
/// the calls.
[[nodiscard]] inline Service threads_service(const tenon_thread_pool* pool,
                                             const Service* next = nullptr) noexcept {
  return {&threads_key, const_cast<tenon_thread_pool*>(pool), next};
}

/// The functions of "tenon.threads/1" (abi/extensions/threads.h).
[[nodiscard]] inline const tenon_threads_v1& threads_table() noexcept {
  static constexpr tenon_threads_v1 table = {
      sizeof(tenon_threads_v1), 0,
      [](const tenon_execution_context* context) {
        return static_cast<const tenon_thread_pool*>(find_service(context, &threads_key));
      },
      [](const tenon_init_context* context) {
        return static_cast<const tenon_thread_pool*>(find_service(context, &threads_key));
      }};
  return table;
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
