// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/external_memory/external_memory.hpp"

#include "tenon/host/loader/plugin/last_error.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

Result<ImportedMemory> ImportedMemory::import(BackendRef backend, const ExternalMemory& memory) {
  TENON_RETURN_IF_ERROR(backend->is_available());
  const auto table = backend->extension<tenon_external_memory_v1>(TENON_EXTENSION_EXTERNAL_MEMORY);
  if (!table || !table->import_memory || !table->release_memory) {
    return error(Error::NotSupported, "backend ", backend->id(),
                 " imports no memory (extension " TENON_EXTENSION_EXTERNAL_MEMORY ")");
  }
  const tenon_external_memory raw = tenon::detail::to_abi(memory);
  // Checked here as well, so that a mistake is found in each backend in the same way.
  if (auto checked = tenon::detail::to_external_memory(&raw, tenon::detail::memory_kinds(*table));
      !checked.ok()) {
    return std::move(checked).status().with_context(concat("backend ", backend->id()));
  }
  tenon_imported_memory* imported = nullptr;
  void* address = nullptr;
  const tenon_status status = table->import_memory(backend->raw(), &raw, &imported, &address);
  if (status != TENON_STATUS_OK) {
    return take_last_error(backend->host(), status)
        .with_context(concat("backend ", backend->id(), ": import_memory"));
  }
  if (!address) {
    table->release_memory(backend->raw(), imported);
    return error(Error::Internal, "backend ", backend->id(),
                 ": import_memory succeeded with no address");
  }
  const std::span bytes(static_cast<std::byte*>(address), static_cast<std::size_t>(memory.nbytes));
  return ImportedMemory(std::move(backend), imported, table->release_memory, bytes, memory.device);
}

ImportedMemory::~ImportedMemory() {
  if (backend_) release_(backend_->raw(), memory_);
}

}}}  // namespace tenon::TENON_RELEASE::host
