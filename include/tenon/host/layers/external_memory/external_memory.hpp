// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "tenon/core/application/external_memory.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/registry/backend_ref.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Memory that something else allocated, imported by a backend (extension
/// "tenon.external_memory/1"), to be given to `Method::set_input` and `Method::set_output`:
///
///     TENON_TRY(const auto frame, ImportedMemory::import(backend, memory));
///     method.set_input(0, {ScalarType::Byte, sizes, frame.bytes(), frame.device()});
///
/// Keeps the backend and its plugin. Must outlive the runs that have its bytes. Immutable.
class ImportedMemory {
 public:
  /// The caller keeps the descriptor or handle of `memory`, and may close it at once.
  ///
  /// errors: NotSupported (the backend has no such extension, or does not import that kind),
  ///         InvalidArgument (memory that is not what `memory` says), NotFound (the backend is not
  ///         available), Internal (a backend that breaks a rule), and the backend's.
  [[nodiscard]] static Result<ImportedMemory> import(BackendRef backend,
                                                     const ExternalMemory& memory);

  ImportedMemory(ImportedMemory&& other) noexcept
      : backend_(std::move(other.backend_)),
        memory_(std::exchange(other.memory_, nullptr)),
        release_(other.release_),
        bytes_(other.bytes_),
        device_(other.device_) {}
  ImportedMemory& operator=(ImportedMemory&&) = delete;
  ~ImportedMemory();

  /// On a device their address is not the host's to read.
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }
  [[nodiscard]] tenon_dl_device device() const noexcept { return device_; }

 private:
  using Release = decltype(tenon_external_memory_v1::release_memory);

  ImportedMemory(BackendRef backend, tenon_imported_memory* memory, Release release,
                 std::span<std::byte> bytes, tenon_dl_device device) noexcept
      : backend_(std::move(backend)),
        memory_(memory),
        release_(release),
        bytes_(bytes),
        device_(device) {}

  BackendRef backend_;
  tenon_imported_memory* memory_;
  Release release_;
  std::span<std::byte> bytes_;
  tenon_dl_device device_;
};

}}}  // namespace tenon::TENON_RELEASE::host
