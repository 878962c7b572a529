// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>

#include "boundary/messages.hpp"
#include "boundary/protocol.hpp"
#include "tenon/abi/private/changes.h"
#include "tenon/abi/tenon.h"
#include "tenon/core/extensions.hpp"
#include "tenon/core/struct_size.hpp"

namespace tenon::isolated {

/// Extensions of the application's host that cross; null where it has none.
struct HostTables {
  const tenon_cancel_flag_v1* cancel_flag = nullptr;
  const tenon_prepare_v1* prepare = nullptr;
  const tenon_threads_v1* threads = nullptr;
  const tenon_changes_v1* changes = nullptr;
  bool has_policy = false;  ///< The host has a policy that admits libraries: no table.

  explicit HostTables(const tenon_host* host) {
    if (!TENON_HAS_MEMBER(*host, get_extension) || !host->get_extension) return;
    const auto find = [&](const char* id) { return host->get_extension(host, id); };
    cancel_flag = static_cast<const tenon_cancel_flag_v1*>(find(TENON_EXTENSION_CANCEL_FLAG));
    prepare = static_cast<const tenon_prepare_v1*>(find(TENON_EXTENSION_PREPARE));
    threads = static_cast<const tenon_threads_v1*>(find(TENON_EXTENSION_THREADS));
    has_policy = find(library_policy_id) != nullptr;
    changes = static_cast<const tenon_changes_v1*>(find(TENON_EXTENSION_CHANGES));
    if (cancel_flag && !TENON_HAS_MEMBER(*cancel_flag, get_cancel_flag)) cancel_flag = nullptr;
    if (prepare && !TENON_HAS_MEMBER(*prepare, open)) prepare = nullptr;
    if (threads && !TENON_HAS_MEMBER(*threads, get_pool_of_init)) threads = nullptr;
    if (changes && !TENON_HAS_MEMBER(*changes, get_changes)) changes = nullptr;
  }

  /// As the call to `load` has them.
  [[nodiscard]] std::uint32_t bits() const noexcept {
    std::uint32_t out = 0;
    if (cancel_flag) out |= host_has_cancel_flag;
    if (prepare) out |= host_has_prepare;
    if (threads) out |= host_has_threads;
    if (changes) out |= host_has_changes;
    if (has_policy) out |= host_has_policy;
    return out;
  }
};

/// Writes the setting of a pool, which may be null. The worker makes one like it.
inline void write_pool(const tenon_thread_pool* pool, Writer& to) {
  const std::uint32_t num_processors = pool && pool->processors ? pool->num_processors : 0;
  to.put<std::uint32_t>(pool ? pool->num_threads : 0);
  to.put<std::uint64_t>(num_processors);
  if (num_processors != 0) to.put_array(pool->processors, num_processors);
}

}  // namespace tenon::isolated
