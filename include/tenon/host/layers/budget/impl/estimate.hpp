// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/budget/memory.hpp"

#include <algorithm>
#include <cstddef>
#include <new>
#include <span>
#include <utility>

#include "tenon/abi/extensions/estimate.h"
#include "tenon/core/concat.hpp"
#include "tenon/host/layers/budget/impl/memory_sink.hpp"
#include "tenon/host/layers/budget/impl/planned_bytes.hpp"
#include "tenon/host/layers/budget/impl/table_bytes.hpp"
#include "tenon/host/layers/inspect/impl/blob_context.hpp"
#include "tenon/host/loader/files/limits.hpp"
#include "tenon/host/loader/plugin/backend.hpp"
#include "tenon/host/loader/plugin/backend_api.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"
#include "tenon/host/loader/program/device_buffers.hpp"
#include "tenon/host/loader/program/program.hpp"

#if defined(_WIN32)
#include "tenon/host/platform/impl/windows/free_memory.hpp"
#else
#include "tenon/host/platform/impl/posix/free_memory.hpp"
#endif

namespace tenon { inline namespace TENON_RELEASE { namespace host {

std::vector<DeviceBytes> MethodEstimate::totals() const {
  std::vector<DeviceBytes> out = planned;
  detail::add_bytes(out, {TENON_DL_CPU, 0}, tables);
  for (const DelegateEstimate& delegate : delegates) {
    for (const DelegateBytes& need : delegate.needs) {
      detail::add_bytes(out, need.device, detail::add_saturating(need.weights, need.workspace));
    }
  }
  return out;
}

MethodEstimate estimate_host(const schema::ExecutionPlan& plan) {
  MethodEstimate out;
  out.planned = detail::planned_bytes(plan);
  out.tables = detail::TableBytes(plan).sum() +
               plan.non_const_buffer_sizes()->size() * detail::PlannedBuffers::alignment;
  return out;
}

Result<DelegateEstimate> estimate_delegate(const LoadedBackend& backend, const Program& program,
                                           const char* method_name,
                                           const schema::BackendDelegate& delegate,
                                           const tenon_named_data_map* data,
                                           std::span<const tenon_option> options) {
  DelegateEstimate out;
  out.backend_id = delegate.id()->str();
  const auto table = backend.extension<tenon_estimate_v1>(TENON_EXTENSION_ESTIMATE);
  if (!table || !table->estimate) return out;

  detail::BlobContext context;
  TENON_RETURN_IF_ERROR(context.fill(backend, program, method_name, delegate, data));
  context.set_options(options);

  detail::MemorySink sink;
  const tenon_status status =
      table->estimate(backend.raw(), &context.raw(), &detail::MemorySink::take, &sink);
  if (status == TENON_STATUS_NOT_SUPPORTED) return out;
  if (status != TENON_STATUS_OK) {
    return take_last_error(backend.host(), status)
        .with_context(concat("backend ", backend.id(), ": estimate"));
  }
  if (sink.out_of_memory) {
    return error(Error::MemoryAllocationFailed, "backend ", backend.id(), ": its estimate");
  }
  out.is_stated = true;
  out.is_complete = sink.is_complete;
  out.needs = std::move(sink.devices);
  return out;
}

Result<std::uint64_t> free_host_memory() {
  if (const auto found = platform::free_memory()) return *found;
  return error(Error::NotSupported, "the system does not say how much memory is free");
}

Result<std::uint64_t> free_memory(const LoadedBackend& backend, tenon_dl_device device) {
  if (is_cpu(device)) return free_host_memory();
  const auto table = backend.extension<tenon_estimate_v1>(TENON_EXTENSION_ESTIMATE);
  if (!table || !table->free_memory) {
    return error(Error::NotSupported, "backend ", backend.id(),
                 " does not say how much memory is free");
  }
  std::uint64_t nbytes = 0;
  const tenon_status status = table->free_memory(backend.raw(), device, &nbytes);
  if (status == TENON_STATUS_OK) return nbytes;
  return take_last_error(backend.host(), status)
      .with_context(concat("backend ", backend.id(), ": free_memory"));
}

std::uint64_t DelegateBytes::total() const noexcept {
  return detail::add_saturating(weights, detail::add_saturating(workspace, session));
}

std::uint64_t DelegateMemory::host_bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const DelegateBytes& each : held) {
    if (is_cpu(each.device)) sum = detail::add_saturating(sum, each.total());
  }
  return std::max(lent, sum);
}

std::uint64_t MethodMemory::host_bytes() const noexcept {
  std::uint64_t sum = detail::add_saturating(tables, temp);
  for (const DeviceBytes& entry : planned) {
    if (is_cpu(entry.device)) sum = detail::add_saturating(sum, entry.nbytes);
  }
  for (const DelegateMemory& delegate : delegates) {
    sum = detail::add_saturating(sum, delegate.host_bytes());
  }
  return sum;
}

}}}  // namespace tenon::TENON_RELEASE::host
