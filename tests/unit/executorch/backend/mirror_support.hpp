// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/abi/host.h"
#include "tenon/host/all_layers.hpp"
#include "tenon/host/loader/impl/plugin/host_table.hpp"

namespace tenon::test {

/// The host of tests of mirrors, which resizes their tensors.
inline const tenon_host* test_host() {
  static const host::HostTable table(host::all_layers(), "");
  return table.get();
}

}  // namespace tenon::test
