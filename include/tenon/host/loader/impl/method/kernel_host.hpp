// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/abi/host.h"
#include "tenon/host/all_layers.hpp"
#include "tenon/host/loader/impl/plugin/host_table.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Services that kernels get: they resize outputs, leave error texts and ask for tables like a
/// backend.
[[nodiscard]] inline const tenon_host* kernel_host() {
  static const HostTable table(all_layers(), "");
  return table.get();
}

}}}  // namespace tenon::TENON_RELEASE::host
