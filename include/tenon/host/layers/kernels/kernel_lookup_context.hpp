// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/abi/backend.h"
#include "tenon/abi/extensions/prepare.h"
#include "tenon/abi/extensions/threads.h"
#include "tenon/host/layers/prepared/prepared_store.hpp"
#include "tenon/host/loader/plugin/host_execution_context.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

class KernelLookup;  // tenon/host/layers/kernels/impl/kernel_lookup_table.hpp

/// The context of an `init` or `check_blob`, where kernels of other plugins are looked for in it
/// (abi/draft/kernel_lookup.h), the application's threads (abi/extensions/threads.h), and what
/// was prepared from the blob (abi/extensions/prepare.h).
class KernelLookupContext : public tenon_init_context {
 public:
  /// The look-up of the call that got `context`, which is part of an object of this class; null
  /// where there is none.
  [[nodiscard]] static KernelLookup* kernels_of(const tenon_init_context& context) noexcept {
    return static_cast<const KernelLookupContext&>(context).kernels_;
  }
  /// The functions of the extensions.
  [[nodiscard]] static const tenon_threads_v1& threads_table() noexcept {
    static constexpr tenon_threads_v1 table = {sizeof(tenon_threads_v1), 0,
                                               &HostExecutionContext::threads_of, &threads_of};
    return table;
  }
  [[nodiscard]] static const tenon_prepare_v1& prepare_table() noexcept {
    static constexpr tenon_prepare_v1 table = {sizeof(tenon_prepare_v1), 0, &open_prepared};
    return table;
  }

  /// From now on; must outlive the call.
  void set_prepared(const PreparedOpener& prepared) noexcept { prepared_ = &prepared; }

 protected:
  /// `kernels` and `threads`, which may be null, must outlive the call.
  KernelLookupContext(KernelLookup* kernels, const tenon_thread_pool* threads) noexcept
      : tenon_init_context{}, kernels_(kernels), threads_(threads) {}
  ~KernelLookupContext() = default;

 private:
  static const tenon_thread_pool* threads_of(const tenon_init_context* context) noexcept {
    return context ? static_cast<const KernelLookupContext*>(context)->threads_ : nullptr;
  }
  static tenon_status open_prepared(const tenon_init_context* context, const void* identity,
                                    std::uint64_t identity_size, tenon_prepared** out) noexcept {
    const PreparedOpener* const prepared =
        context ? static_cast<const KernelLookupContext*>(context)->prepared_ : nullptr;
    if (!prepared) return TENON_STATUS_NOT_SUPPORTED;
    return prepared->open(*context, identity, identity_size, out);
  }

  const PreparedOpener* prepared_ = nullptr;
  KernelLookup* kernels_;
  const tenon_thread_pool* threads_;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
