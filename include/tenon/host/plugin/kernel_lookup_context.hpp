// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/abi/backend.h"

namespace tenon::host::detail {

class KernelLookup;  // tenon/host/impl/plugin/kernel_lookup.hpp

/// The context of an `init` or `check_blob`, and where kernels of other plugins are looked for in
/// it (abi/extensions/kernel_lookup.h).
class KernelLookupContext : public tenon_init_context {
 public:
  /// The look-up of the call that got `context`, which is part of an object of this class; null
  /// where there is none.
  [[nodiscard]] static KernelLookup* kernels_of(const tenon_init_context& context) noexcept {
    return static_cast<const KernelLookupContext&>(context).kernels_;
  }

 protected:
  /// `kernels` must outlive the call.
  explicit KernelLookupContext(KernelLookup* kernels) noexcept
      : tenon_init_context{}, kernels_(kernels) {}
  ~KernelLookupContext() = default;

 private:
  KernelLookup* kernels_;
};

}  // namespace tenon::host::detail
