// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/abi/draft/external_memory.h"
#include "tenon/core/application/external_memory.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/budget/impl/method_budget.hpp"
#include "tenon/host/layers/devices/device_memory.hpp"
#include "tenon/host/loader/impl/method/loaded_delegate.hpp"
#include "tenon/host/loader/impl/method/planned_buffers.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// In which pages the backend works on memory of the host where it is.
[[nodiscard]] inline PlannedBuffers::Pages pages_for(const LoadedBackend& backend) {
  using Pages = PlannedBuffers::Pages;
  const auto table = backend.extension<tenon_external_memory_v1>(TENON_EXTENSION_EXTERNAL_MEMORY);
  if (!table) return Pages::none;
  const tenon::detail::HandleKinds kinds = tenon::detail::memory_kinds(*table);
  if (!tenon::detail::has_kind(kinds, MemoryKind::HostMemory)) return Pages::none;
  return tenon::detail::has_kind(kinds, MemoryKind::MemFd) ? Pages::shared : Pages::own;
}

/// Allocates the planned memory of a method. Where a backend of its delegates imports memory of the
/// host, buffers of a page or more are whole pages, imported there: for as long as the method has
/// them, so that the backend need not guess from an address whose memory it is.
///
/// A backend that is not found is not looked at: loading its delegate reports it. Errors as those
/// of `PlannedBuffers::allocate`.
[[nodiscard]] inline Status allocate_planned(const schema::ExecutionPlan& plan, Loading& loader,
                                             const DeviceMemories& devices,
                                             std::uint64_t planned_bytes, MethodBudget* budget,
                                             PlannedBuffers& out) {
  using Pages = PlannedBuffers::Pages;
  Pages pages = Pages::none;
  const auto [num_in_pages, padding] = PlannedBuffers::bytes_around_pages(plan);
  if (num_in_pages != 0) {
    for (const auto* delegate : *plan.delegates()) {
      if (!loader.use_backend(delegate->id()->string_view()).ok()) break;
    }
    loader.uses.for_each(
        [&](const BackendUse& use) { pages = std::max(pages, pages_for(*use.backend)); });
  }
  MemoryMeter* const meter = pages != Pages::none && budget ? budget->cpu() : nullptr;
  if (meter && !meter->take(padding)) {
    meter->forget_refusal();
    pages = Pages::none;
  }
  if (pages == Pages::none) return out.allocate(plan, devices, planned_bytes, loader.arena);
  PlannedBuffers::PageFiles files;
  TENON_RETURN_IF_ERROR(out.allocate(plan, devices, planned_bytes, loader.arena, pages, &files));
  loader.uses.for_each([&](const BackendUse& use) {
    if (pages_for(*use.backend) != Pages::none) out.import_pages(use.backend, files);
  });
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
