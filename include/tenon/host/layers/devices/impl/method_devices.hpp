// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/devices/device_memory.hpp"
#include "tenon/host/loader/impl/method/loading.hpp"
#include "tenon/host/loader/program/device_buffers.hpp"
#include "tenon/host/loader/registry/backend_ref.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Fills `out` with the devices of the method. A backend must serve each device that the method's
/// memory is planned on, and may serve devices of inputs and outputs that the application gives.
/// The backends of the delegates are asked in their order, then the backends that the application
/// named (`MethodOptions::backends`). Other backends are not asked, because asking would load their
/// plugins.
[[nodiscard]] inline Status find_devices(Loading& loading, DeviceMemories& out) {
  if (!loading.method.program->names_devices()) return ok();
  const schema::ExecutionPlan& plan = loading.method.plan;
  const std::vector<DeviceBuffer> buffers = find_device_buffers(plan);
  const std::vector<tenon_dl_device> unplanned = find_devices_of_unplanned(plan);
  if (buffers.empty() && unplanned.empty()) return ok();
  std::vector<std::string_view> ids = find_backend_ids(plan);
  for (const BackendRef& backend : loading.method.options.backends) {
    bool is_new = static_cast<bool>(backend);
    for (const std::string_view id : ids) is_new = is_new && id != backend->id();
    if (is_new) ids.push_back(backend->id());
  }
  const auto look_up = [&](std::string_view id) -> Result<BackendRef> {
    TENON_TRY(const BackendUse* use, loading.use_backend(id));
    return use->backend;
  };
  for (const DeviceBuffer& buffer : buffers) {
    if (out.find(buffer.device)) continue;
    auto memory = find_device_memory(buffer.device, ids, look_up);
    if (!memory.ok()) return std::move(memory).status().with_context(buffer.text());
    out.add(*std::move(memory));
  }
  for (const tenon_dl_device device : unplanned) {
    if (out.find(device)) continue;
    if (auto memory = find_device_memory(device, ids, look_up); memory.ok()) {
      out.add(*std::move(memory));
    }
  }
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
