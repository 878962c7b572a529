// SPDX-License-Identifier: MIT
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>

#include "kit/boundary/host_side.hpp"
#include "kit/boundary/watched_backend.hpp"
#include "kit/process/interposition.hpp"
#include "tenon/abi/draft/kernel_lookup.h"
#include "tenon/abi/extensions/cancel.h"
#include "tenon/abi/extensions/prepare.h"
#include "tenon/abi/extensions/threads.h"
#include "tenon/abi/private/changes.h"
#include "tenon/host/loader/plugin/backend_api.hpp"

/// The extensions of the host as the plugin sees them: it passes the contexts that it was shown,
/// which are copies, and the host gets its own. What the host, and the plugins that it asks,
/// allocate and write inside of a call is not the plugin's.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance::detail {

/// The host's table of an extension, or null unless it has the function `last`, which is the last
/// one.
template <class Table, class Function>
[[nodiscard]] const Table* table_of(const tenon_host* host, const char* id,
                                    Function Table::* last) {
  const void* const table = host->get_extension(host, id);
  return table && host::complete_table<Table>(table).*last ? static_cast<const Table*>(table)
                                                           : nullptr;
}
[[nodiscard]] inline const tenon_kernel_lookup_v1* kernel_lookup_of(const tenon_host* host) {
  return table_of(host, TENON_EXTENSION_KERNEL_LOOKUP, &tenon_kernel_lookup_v1::last_failure);
}
[[nodiscard]] inline const tenon_changes_v1* changes_of(const tenon_host* host) {
  return table_of(host, TENON_EXTENSION_CHANGES, &tenon_changes_v1::get_changes);
}
[[nodiscard]] inline const tenon_cancel_flag_v1* cancel_flag_of(const tenon_host* host) {
  return table_of(host, TENON_EXTENSION_CANCEL_FLAG, &tenon_cancel_flag_v1::get_cancel_flag);
}
[[nodiscard]] inline const tenon_prepare_v1* prepare_of(const tenon_host* host) {
  return table_of(host, TENON_EXTENSION_PREPARE, &tenon_prepare_v1::open);
}
[[nodiscard]] inline const tenon_threads_v1* threads_of(const tenon_host* host) {
  return table_of(host, TENON_EXTENSION_THREADS, &tenon_threads_v1::get_pool_of_init);
}

/// A kernel that the host found, as the plugin sees it.
struct SeenKernel {
  const tenon_kernel_lookup_v1* table;
  tenon_found_kernel* found;

  [[nodiscard]] static SeenKernel& of(const tenon_found_kernel* kernel) noexcept {
    return *const_cast<SeenKernel*>(reinterpret_cast<const SeenKernel*>(kernel));
  }

  /// The result of `make`, which makes a kernel of `table`.
  template <class Make>
  static tenon_status create(const tenon_kernel_lookup_v1* table, tenon_found_kernel** out,
                             const Make& make) {
    if (!out) return make(nullptr);
    std::unique_ptr<SeenKernel> seen(new (std::nothrow) SeenKernel{table, nullptr});
    if (!seen) return TENON_STATUS_MEMORY_ALLOCATION_FAILED;
    const tenon_status status = make(&seen->found);
    if (status == TENON_STATUS_OK) *out = reinterpret_cast<tenon_found_kernel*>(seen.release());
    return status;
  }
};

struct SeenKernelLookup {
  static tenon_status find(const tenon_init_context* context, const tenon_kernel_context* call,
                           tenon_found_kernel** out) {
    const OutsidePlugin outside;
    const tenon_init_context& original =
        GuardedStruct<tenon_init_context, tenon_init_context>::owner_of(context);
    const tenon_kernel_lookup_v1* const table = kernel_lookup_of(original.host);
    return SeenKernel::create(table, out, [&](tenon_found_kernel** found) {
      return table->find_kernel(&original, call, found);
    });
  }
  static tenon_status clone(const tenon_found_kernel* kernel, tenon_value* const* args,
                            std::uint32_t num_args, tenon_found_kernel** out) {
    const OutsidePlugin outside;
    const SeenKernel& seen = SeenKernel::of(kernel);
    return SeenKernel::create(seen.table, out, [&](tenon_found_kernel** found) {
      return seen.table->clone_kernel(seen.found, args, num_args, found);
    });
  }
  static tenon_status run(tenon_found_kernel* kernel) {
    const OutsidePlugin outside;
    return SeenKernel::of(kernel).table->run_kernel(SeenKernel::of(kernel).found);
  }
  static void destroy(tenon_found_kernel* kernel) {
    if (!kernel) return;
    const OutsidePlugin outside;
    const std::unique_ptr<SeenKernel> seen(&SeenKernel::of(kernel));
    seen->table->destroy_kernel(seen->found);
  }
  static const char* last_failure(const tenon_host* host) {
    const OutsidePlugin outside;
    const tenon_host* const original = GuardedHost::original_of(host);
    return kernel_lookup_of(original)->last_failure(original);
  }

  static constexpr tenon_kernel_lookup_v1 shown_table = {
      sizeof(tenon_kernel_lookup_v1), 0, &find, &clone, &run, &destroy, &last_failure};
};

struct SeenChanges {
  static tenon_changes* get_changes(const tenon_execution_context* context) {
    const OutsidePlugin outside;
    const tenon_execution_context& original =
        *GuardedStruct<tenon_execution_context, WatchedDelegate>::owner_of(context)
             .original_context;
    return changes_of(original.host)->get_changes(&original);
  }

  static constexpr tenon_changes_v1 shown_table = {sizeof(tenon_changes_v1), 0, &get_changes};
};

struct SeenCancelFlag {
  static const std::uint32_t* get_cancel_flag(const tenon_execution_context* context) {
    const OutsidePlugin outside;
    const WatchedDelegate& delegate =
        GuardedStruct<tenon_execution_context, WatchedDelegate>::owner_of(context);
    delegate.backend->asked_cancel_flag = true;
    const tenon_execution_context& original = *delegate.original_context;
    return cancel_flag_of(original.host)->get_cancel_flag(&original);
  }

  static constexpr tenon_cancel_flag_v1 shown_table = {sizeof(tenon_cancel_flag_v1), 0,
                                                       &get_cancel_flag};
};

/// Prepared bytes of the host, as the plugin sees them.
struct SeenPrepared : tenon_prepared {
  tenon_prepared* found = nullptr;

  static tenon_status open(const tenon_init_context* context, const void* identity,
                           std::uint64_t identity_size, tenon_prepared** out) {
    const OutsidePlugin outside;
    const tenon_init_context& original =
        GuardedStruct<tenon_init_context, tenon_init_context>::owner_of(context);
    std::unique_ptr<SeenPrepared> seen(new (std::nothrow) SeenPrepared);
    if (!seen) return TENON_STATUS_MEMORY_ALLOCATION_FAILED;
    const tenon_status status =
        prepare_of(original.host)->open(&original, identity, identity_size, &seen->found);
    if (status != TENON_STATUS_OK) return status;
    static_cast<tenon_prepared&>(*seen) = {sizeof(tenon_prepared),
                                           0,
                                           seen->found->nbytes,
                                           seen->found->data,
                                           &store_parts,
                                           &release_it,
                                           nullptr};
    *out = seen.release();
    return TENON_STATUS_OK;
  }
  static tenon_status store_parts(tenon_prepared* prepared, const tenon_span* parts,
                                  std::uint64_t num_parts) {
    const OutsidePlugin outside;
    tenon_prepared* const found = static_cast<SeenPrepared*>(prepared)->found;
    return found->store(found, parts, num_parts);
  }
  static void release_it(tenon_prepared* prepared) {
    const OutsidePlugin outside;
    const std::unique_ptr<const SeenPrepared> seen(static_cast<SeenPrepared*>(prepared));
    seen->found->release(seen->found);
  }

  static constexpr tenon_prepare_v1 shown_table = {sizeof(tenon_prepare_v1), 0, &open};
};

struct SeenThreads {
  static const tenon_thread_pool* get_pool(const tenon_execution_context* context) {
    const OutsidePlugin outside;
    const WatchedDelegate& delegate =
        GuardedStruct<tenon_execution_context, WatchedDelegate>::owner_of(context);
    delegate.backend->asked_threads = true;
    const tenon_execution_context& original = *delegate.original_context;
    return threads_of(original.host)->get_pool(&original);
  }
  static const tenon_thread_pool* get_pool_of_init(const tenon_init_context* context) {
    const OutsidePlugin outside;
    const tenon_init_context& original =
        GuardedStruct<tenon_init_context, tenon_init_context>::owner_of(context);
    return threads_of(original.host)->get_pool_of_init(&original);
  }

  static constexpr tenon_threads_v1 shown_table = {sizeof(tenon_threads_v1), 0, &get_pool,
                                                   &get_pool_of_init};
};

const void* GuardedHost::extension_of(const tenon_host* original, const char* id) {
  const std::string_view asked = id;
  if (asked == TENON_EXTENSION_KERNEL_LOOKUP) {
    return kernel_lookup_of(original) ? &SeenKernelLookup::shown_table : nullptr;
  }
  if (asked == TENON_EXTENSION_CHANGES)
    return changes_of(original) ? &SeenChanges::shown_table : nullptr;
  if (asked == TENON_EXTENSION_CANCEL_FLAG) {
    return cancel_flag_of(original) ? &SeenCancelFlag::shown_table : nullptr;
  }
  if (asked == TENON_EXTENSION_PREPARE)
    return prepare_of(original) ? &SeenPrepared::shown_table : nullptr;
  if (asked == TENON_EXTENSION_THREADS)
    return threads_of(original) ? &SeenThreads::shown_table : nullptr;
  return original->get_extension(original, id);
}

}}}  // namespace tenon::TENON_RELEASE::conformance::detail
