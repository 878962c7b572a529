// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/abi/backend.h"
#include "tenon/abi/extensions/threads.h"

namespace tenon::host::detail {

class KernelLookup;  // tenon/host/impl/plugin/kernel_lookup.hpp

/// The context of an `init` or `check_blob`, where kernels of other plugins are looked for in it
/// (abi/extensions/kernel_lookup.h), and the application's threads (abi/extensions/threads.h).
class KernelLookupContext : public tenon_init_context {
 public:
  /// The look-up of the call that got `context`, which is part of an object of this class; null
  /// where there is none.
  [[nodiscard]] static KernelLookup* kernels_of(const tenon_init_context& context) noexcept {
    return static_cast<const KernelLookupContext&>(context).kernels_;
  }
  /// For the extension's table.
  [[nodiscard]] static const tenon_thread_pool* threads_of(
      const tenon_init_context* context) noexcept {
    return context ? static_cast<const KernelLookupContext*>(context)->threads_ : nullptr;
  }

 protected:
  /// `kernels` and `threads`, which may be null, must outlive the call.
  KernelLookupContext(KernelLookup* kernels, const tenon_thread_pool* threads) noexcept
      : tenon_init_context{}, kernels_(kernels), threads_(threads) {}
  ~KernelLookupContext() = default;

 private:
  KernelLookup* kernels_;
  const tenon_thread_pool* threads_;
};

}  // namespace tenon::host::detail
