// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/kernels/kernel_extension.hpp"

#include "tenon/host/layers/kernels/impl/kernel_lookup_table.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

HostExtension kernel_lookup_extension() noexcept {
  return {TENON_EXTENSION_KERNEL_LOOKUP, &detail::KernelLookupTable::get()};
}

}}}  // namespace tenon::TENON_RELEASE::host
