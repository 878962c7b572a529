// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include "tenon/abi/extensions/cancel.h"
#include "tenon/abi/extensions/prepare.h"
#include "tenon/abi/extensions/threads.h"
#include "tenon/host/layers/kernels/kernel_extension.hpp"
#include "tenon/host/layers/kernels/kernel_lookup_context.hpp"
#include "tenon/host/layers/trust/trust_gate.hpp"
#include "tenon/host/loader/plugin/host_execution_context.hpp"
#include "tenon/host/loader/plugin/host_info.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// `info`, the tables that all layers have for plugins, and the gate of trust. `BackendRegistry`
/// adds them itself; `Plugin::load` and `Plugin::from_static` have those of their `info` alone.
///
/// threads: any. errors: never.
[[nodiscard]] inline HostInfo all_layers(HostInfo info = {}) {
  info.extensions.insert(
      info.extensions.end(),
      {kernel_lookup_extension(),
       {TENON_EXTENSION_CANCEL_FLAG, &detail::HostExecutionContext::cancel_flag_table()},
       {TENON_EXTENSION_PREPARE, &detail::KernelLookupContext::prepare_table()},
       {TENON_EXTENSION_THREADS, &detail::KernelLookupContext::threads_table()}});
  info.gates.push_back(trust_gate());
  return info;
}

}}}  // namespace tenon::TENON_RELEASE::host
