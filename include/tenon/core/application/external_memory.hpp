// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

#include "tenon/abi/draft/external_memory.h"
#include "tenon/core/application/native_handle.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/struct_size.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// Kinds of memory that the headers name; a vendor's own is a text like "acme.buffer".
struct MemoryKind {
  static constexpr const char* MemFd = TENON_KIND_MEMFD;
  static constexpr const char* DmaBuf = TENON_KIND_DMA_BUF;
  static constexpr const char* OpaqueFd = TENON_KIND_OPAQUE_FD;
  static constexpr const char* OpaqueWin32 = TENON_KIND_OPAQUE_WIN32;
  static constexpr const char* CudaIpc = TENON_KIND_CUDA_IPC_MEMORY;
  static constexpr const char* ClMem = TENON_KIND_OPENCL_MEM;
  static constexpr const char* HardwareBuffer = TENON_KIND_HARDWARE_BUFFER;
  static constexpr const char* IoSurface = TENON_KIND_IO_SURFACE;
  static constexpr const char* HostMemory = TENON_KIND_HOST_MEMORY;
};

/// Kinds of fences that the headers name; a vendor's own is a text like "acme.fence".
struct FenceKind {
  static constexpr const char* SyncFile = TENON_KIND_SYNC_FILE;
  static constexpr const char* EventFd = TENON_KIND_EVENTFD;
  static constexpr const char* SemaphoreFd = TENON_KIND_VULKAN_SEMAPHORE_FD;
  static constexpr const char* SemaphoreWin32 = TENON_KIND_VULKAN_SEMAPHORE_WIN32;
};

/// Memory that something else allocated. The descriptor or handle remains its owner's.
struct ExternalMemory {
  HandleKind kind = MemoryKind::MemFd;
  int descriptor = -1;     ///< For the kinds that are descriptors, and HostMemory of a memfd.
  void* handle = nullptr;  ///< For the others.
  std::uint64_t object_size = 0;  ///< Of the whole object where its descriptor does not say it.
  std::uint64_t offset = 0;       ///< Of the range that is used, in bytes.
  std::uint64_t nbytes = 0;       ///< Of the range.
  bool is_read = true;            ///< For inputs.
  bool is_written = false;        ///< For outputs.
  bool is_dedicated = false;      ///< One resource alone has the allocation.
  tenon_dl_device device{TENON_DL_CPU, 0};  ///< Where runs find it.
};

/// A point in the work of something else. The descriptor or handle remains its owner's.
struct ExternalFence {
  HandleKind kind = FenceKind::SyncFile;
  int descriptor = -1;      ///< For the kinds that are descriptors.
  void* handle = nullptr;   ///< For the others.
  std::uint64_t value = 0;  ///< Of a semaphore with a timeline.
};

namespace detail {

/// Which of descriptor and handle memory or a fence of a kind has.
struct HandleParts {
  bool needs_descriptor = false;
  bool may_have_descriptor = false;
  bool needs_handle = false;
  bool may_have_handle = false;
};
/// A vendor's own kind has what the vendor says.
[[nodiscard]] constexpr HandleParts parts_of(HandleKind kind) noexcept {
  for (const HandleKind descriptor :
       {MemoryKind::MemFd, MemoryKind::DmaBuf, MemoryKind::OpaqueFd, FenceKind::SyncFile,
        FenceKind::EventFd, FenceKind::SemaphoreFd}) {
    if (kind == descriptor) return {true, true, false, false};
  }
  for (const HandleKind handle :
       {MemoryKind::OpaqueWin32, MemoryKind::CudaIpc, MemoryKind::ClMem, MemoryKind::HardwareBuffer,
        MemoryKind::IoSurface, FenceKind::SemaphoreWin32}) {
    if (kind == handle) return {false, false, true, true};
  }
  if (kind == MemoryKind::HostMemory) return {false, true, true, true};
  return {false, true, false, true};
}

[[nodiscard]] inline tenon_external_memory to_abi(const ExternalMemory& from) noexcept {
  tenon_external_memory out{};
  out.struct_size = sizeof out;
  const HandleParts parts = parts_of(from.kind);
  out.kind = from.kind.c_str();
  out.descriptor = parts.may_have_descriptor ? from.descriptor : -1;
  out.handle = parts.may_have_handle ? from.handle : nullptr;
  out.object_size = from.object_size;
  out.offset = from.offset;
  out.nbytes = from.nbytes;
  out.access =
      (from.is_read ? TENON_EXTERNAL_READ : 0u) | (from.is_written ? TENON_EXTERNAL_WRITE : 0u);
  out.flags = from.is_dedicated ? TENON_EXTERNAL_DEDICATED : 0u;
  out.device = from.device;
  return out;
}

[[nodiscard]] inline tenon_external_fence to_abi(const ExternalFence& from) noexcept {
  tenon_external_fence out{};
  out.struct_size = sizeof out;
  const HandleParts parts = parts_of(from.kind);
  out.kind = from.kind.c_str();
  out.descriptor = parts.may_have_descriptor ? from.descriptor : -1;
  out.handle = parts.may_have_handle ? from.handle : nullptr;
  out.value = from.value;
  return out;
}

/// Kinds of a table; an element that is null is no kind.
using HandleKinds = std::span<const char* const>;

/// The text of the table for `kind`, or null.
[[nodiscard]] constexpr const char* find_kind(HandleKinds kinds, HandleKind kind) noexcept {
  if (kind.empty()) return nullptr;
  for (const char* const each : kinds) {
    if (kind == each) return each;
  }
  return nullptr;
}
[[nodiscard]] constexpr bool has_kind(HandleKinds kinds, HandleKind kind) noexcept {
  return find_kind(kinds, kind) != nullptr;
}

[[nodiscard]] inline HandleKinds memory_kinds(const tenon_external_memory_v1& table) noexcept {
  return {table.memory_kinds, table.memory_kinds ? table.num_memory_kinds : 0};
}
[[nodiscard]] inline HandleKinds fence_kinds(const tenon_external_memory_v1& table) noexcept {
  return {table.fence_kinds, table.fence_kinds ? table.num_fence_kinds : 0};
}

/// Whether the one of descriptor and handle is there that the kind has, and no other that it does
/// not have.
[[nodiscard]] inline Status check_handle(HandleKind kind, std::int64_t descriptor,
                                         const void* handle) {
  const HandleParts parts = parts_of(kind);
  const bool has_descriptor = descriptor >= 0 && descriptor <= INT32_MAX;
  const bool is_descriptor_right =
      has_descriptor ? parts.may_have_descriptor : descriptor == -1 && !parts.needs_descriptor;
  const bool is_handle_right = handle ? parts.may_have_handle : !parts.needs_handle;
  if (is_descriptor_right && is_handle_right && (has_descriptor || handle)) return ok();
  return error(Error::InvalidArgument, kind.text(), ": expected ",
               parts.needs_descriptor ? "a descriptor and no handle"
               : parts.needs_handle   ? "a handle and no descriptor"
                                      : "a descriptor or a handle",
               ", found descriptor ", descriptor, " and ", handle ? "a" : "no", " handle");
}

/// Checks all that can be checked without the object itself. `kinds` is what the backend knows, and
/// the result has its kind from there: the caller's text is for the call alone.
[[nodiscard]] inline Result<ExternalMemory> to_external_memory(const tenon_external_memory* memory,
                                                               HandleKinds kinds) {
  if (!memory) return error(Error::InvalidArgument, "expected external memory, found null");
  tenon_external_memory known{};
  TENON_RETURN_IF_ERROR(read_struct("external memory", *memory, known));
  const tenon_external_memory* const from = &known;
  ExternalMemory out;
  out.kind = find_kind(kinds, from->kind);
  if (out.kind.empty()) {
    return error(Error::NotSupported, "memory of kind '", HandleKind(from->kind).text(),
                 "' cannot be imported");
  }
  TENON_RETURN_IF_ERROR(check_handle(out.kind, from->descriptor, from->handle));
  const std::uint64_t end = from->offset + from->nbytes;
  if (from->nbytes == 0 || end < from->offset || end > PTRDIFF_MAX ||
      (from->object_size != 0 && end > from->object_size)) {
    return error(Error::InvalidArgument, "expected 1 byte or more of the object, found ",
                 from->nbytes, " bytes from ", from->offset, " of ", from->object_size);
  }
  constexpr std::uint32_t all = TENON_EXTERNAL_READ | TENON_EXTERNAL_WRITE;
  if (from->access == 0 || (from->access & ~all) != 0 ||
      (from->flags & ~std::uint32_t{TENON_EXTERNAL_DEDICATED}) != 0) {
    return error(Error::InvalidArgument, "expected to read or write, found access ", from->access,
                 " with flags ", from->flags);
  }
  if (from->reserved != 0) {
    return error(Error::InvalidArgument, "external memory: expected 0, the reserved member is ",
                 from->reserved);
  }
  out.descriptor = static_cast<int>(from->descriptor);
  out.handle = from->handle;
  out.object_size = from->object_size;
  out.offset = from->offset;
  out.nbytes = from->nbytes;
  out.is_read = (from->access & TENON_EXTERNAL_READ) != 0;
  out.is_written = (from->access & TENON_EXTERNAL_WRITE) != 0;
  out.is_dedicated = (from->flags & TENON_EXTERNAL_DEDICATED) != 0;
  out.device = from->device;
  return out;
}

[[nodiscard]] inline Result<ExternalFence> to_external_fence(const tenon_external_fence* fence,
                                                             HandleKinds kinds) {
  if (!fence) return error(Error::InvalidArgument, "expected a fence, found null");
  tenon_external_fence known{};
  TENON_RETURN_IF_ERROR(read_struct("a fence", *fence, known));
  const tenon_external_fence* const from = &known;
  ExternalFence out;
  out.kind = find_kind(kinds, from->kind);
  if (out.kind.empty()) {
    return error(Error::NotSupported, "fences of kind '", HandleKind(from->kind).text(),
                 "' are not known");
  }
  TENON_RETURN_IF_ERROR(check_handle(out.kind, from->descriptor, from->handle));
  const bool has_timeline = out.kind != FenceKind::SyncFile && out.kind != FenceKind::EventFd;
  if (from->reserved != 0 || (from->value != 0 && !has_timeline)) {
    return error(Error::InvalidArgument, out.kind.text(), ": expected no value, found ",
                 from->value, " and ", from->reserved, " in the reserved member");
  }
  out.descriptor = static_cast<int>(from->descriptor);
  out.handle = from->handle;
  out.value = from->value;
  return out;
}

}  // namespace detail
}}  // namespace tenon::TENON_RELEASE
