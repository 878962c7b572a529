// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include "tenon/abi/extensions/cancel.h"
#include "tenon/abi/extensions/prepare.h"
#include "tenon/abi/extensions/threads.h"
#include "tenon/host/layers/cancel/cancel.hpp"
#include "tenon/host/layers/cancel/cancel_flag_table.hpp"
#include "tenon/host/layers/devices/devices.hpp"
#include "tenon/host/layers/external_memory/imported_pages.hpp"
#include "tenon/host/layers/kernels/kernel_extension.hpp"
#include "tenon/host/layers/kernels/plugin_kernels.hpp"
#include "tenon/host/layers/prepared/prepare_table.hpp"
#include "tenon/host/layers/scheduling/threads_table.hpp"
#include "tenon/host/layers/trust/trust_gate.hpp"
#include "tenon/host/layers/variants/variant.hpp"
#include "tenon/host/loader/plugin/host_info.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// `info`, the tables that all layers have for plugins, the gate of trust, and the layers that need
/// no options. `BackendRegistry` adds them itself; `Plugin::load` and `Plugin::from_static` have
/// the tables and gates of their `info` alone, a method without a registry those layers that it
/// lists.
///
/// threads: any. errors: never.
[[nodiscard]] inline HostInfo all_layers(HostInfo info = {}) {
  info.extensions.insert(info.extensions.end(),
                         {kernel_lookup_extension(),
                          {TENON_EXTENSION_CANCEL_FLAG, &detail::cancel_flag_table()},
                          {TENON_EXTENSION_PREPARE, &detail::prepare_table()},
                          {TENON_EXTENSION_THREADS, &detail::threads_table()}});
  info.gates.push_back(trust_gate());
  info.layers.add(Variant());
  info.layers.add(Devices());
  info.layers.add(ImportedPages());
  info.layers.add(TimeLimit());
  info.layers.add(PluginKernels());  // The last one: it loads plugins.
  return info;
}

}}}  // namespace tenon::TENON_RELEASE::host
