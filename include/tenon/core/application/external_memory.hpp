// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "tenon/abi/extensions/external_memory.h"
#include "tenon/core/result.hpp"
#include "tenon/core/struct_size.hpp"

namespace tenon::inline TENON_RELEASE {

/// Kinds of descriptors and handles of memory.
enum class MemoryKind : std::uint32_t {
  MemFd = TENON_EXTERNAL_MEMFD,
  DmaBuf = TENON_EXTERNAL_DMA_BUF,
  OpaqueFd = TENON_EXTERNAL_OPAQUE_FD,
  OpaqueWin32 = TENON_EXTERNAL_OPAQUE_WIN32,
  CudaIpc = TENON_EXTERNAL_CUDA_IPC,
  ClMem = TENON_EXTERNAL_CL_MEM,
  HardwareBuffer = TENON_EXTERNAL_HARDWARE_BUFFER,
  IoSurface = TENON_EXTERNAL_IO_SURFACE,
  HostMemory = TENON_EXTERNAL_HOST_MEMORY,
};

/// Kinds of descriptors and handles of fences.
enum class FenceKind : std::uint32_t {
  SyncFile = TENON_FENCE_SYNC_FILE,
  EventFd = TENON_FENCE_EVENT_FD,
  SemaphoreFd = TENON_FENCE_SEMAPHORE_FD,
  SemaphoreWin32 = TENON_FENCE_SEMAPHORE_WIN32,
};

/// The name of a kind in messages: "memfd", "dma-buf".
[[nodiscard]] constexpr std::string_view name_of(MemoryKind kind) noexcept {
  switch (kind) {
    case MemoryKind::MemFd:
      return "memfd";
    case MemoryKind::DmaBuf:
      return "dma-buf";
    case MemoryKind::OpaqueFd:
      return "opaque descriptor";
    case MemoryKind::OpaqueWin32:
      return "opaque handle of Windows";
    case MemoryKind::CudaIpc:
      return "handle of CUDA's IPC";
    case MemoryKind::ClMem:
      return "cl_mem";
    case MemoryKind::HardwareBuffer:
      return "AHardwareBuffer";
    case MemoryKind::IoSurface:
      return "IOSurface";
    case MemoryKind::HostMemory:
      return "memory of the host";
  }
  return "unknown kind";
}
[[nodiscard]] constexpr std::string_view name_of(FenceKind kind) noexcept {
  switch (kind) {
    case FenceKind::SyncFile:
      return "sync_file";
    case FenceKind::EventFd:
      return "eventfd";
    case FenceKind::SemaphoreFd:
      return "descriptor of a semaphore";
    case FenceKind::SemaphoreWin32:
      return "semaphore of Windows";
  }
  return "unknown kind";
}

[[nodiscard]] constexpr bool is_descriptor(MemoryKind kind) noexcept {
  return kind == MemoryKind::MemFd || kind == MemoryKind::DmaBuf || kind == MemoryKind::OpaqueFd;
}
[[nodiscard]] constexpr bool is_descriptor(FenceKind kind) noexcept {
  return kind != FenceKind::SemaphoreWin32;
}

/// Memory that something else allocated. The descriptor or handle remains its owner's.
struct ExternalMemory {
  MemoryKind kind = MemoryKind::MemFd;
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
  FenceKind kind = FenceKind::SyncFile;
  int descriptor = -1;      ///< For the kinds that are descriptors.
  void* handle = nullptr;   ///< For the others.
  std::uint64_t value = 0;  ///< Of a semaphore with a timeline.
};

namespace detail {

[[nodiscard]] constexpr bool may_have_descriptor(MemoryKind kind) noexcept {
  return is_descriptor(kind) || kind == MemoryKind::HostMemory;
}
[[nodiscard]] constexpr bool may_have_descriptor(FenceKind kind) noexcept {
  return is_descriptor(kind);
}

[[nodiscard]] inline tenon_external_memory to_abi(const ExternalMemory& from) noexcept {
  tenon_external_memory out{};
  out.struct_size = sizeof out;
  out.kind = static_cast<std::uint32_t>(from.kind);
  out.descriptor = may_have_descriptor(from.kind) ? from.descriptor : -1;
  out.handle = is_descriptor(from.kind) ? nullptr : from.handle;
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
  out.kind = static_cast<std::uint32_t>(from.kind);
  out.descriptor = is_descriptor(from.kind) ? from.descriptor : -1;
  out.handle = is_descriptor(from.kind) ? nullptr : from.handle;
  out.value = from.value;
  return out;
}

[[nodiscard]] constexpr bool has_kind(std::uint64_t kinds, std::uint32_t kind) noexcept {
  return kind < 64 && (kinds >> kind & 1) != 0;
}

/// Whether the one of descriptor and handle is there that the kind has, and no other that it does
/// not have.
template <class Kind>
[[nodiscard]] Status check_handle(Kind kind, std::int64_t descriptor, const void* handle) {
  const bool has_descriptor = descriptor >= 0 && descriptor <= INT32_MAX;
  if (is_descriptor(kind)
          ? has_descriptor && !handle
          : handle && (descriptor == -1 || (has_descriptor && may_have_descriptor(kind)))) {
    return ok();
  }
  return error(Error::InvalidArgument, name_of(kind), ": expected ",
               is_descriptor(kind) ? "a descriptor and no handle" : "a handle and no descriptor",
               ", found descriptor ", descriptor, " and ", handle ? "a" : "no", " handle");
}

/// Checks all that can be checked without the object itself. `kinds` is what the backend knows.
[[nodiscard]] inline Result<ExternalMemory> to_external_memory(const tenon_external_memory* memory,
                                                               std::uint64_t kinds) {
  if (!memory) return error(Error::InvalidArgument, "expected external memory, found null");
  tenon_external_memory known{};
  TENON_RETURN_IF_ERROR(read_struct("external memory", *memory, known));
  const tenon_external_memory* const from = &known;
  ExternalMemory out;
  out.kind = static_cast<MemoryKind>(from->kind);
  if (!has_kind(kinds, from->kind)) {
    return error(Error::NotSupported, "memory of kind ", from->kind, " (", name_of(out.kind),
                 ") cannot be imported");
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
      (from->flags & ~std::uint32_t{TENON_EXTERNAL_DEDICATED}) != 0 || from->reserved != 0) {
    return error(Error::InvalidArgument, "expected to read or write, found access ", from->access,
                 " with flags ", from->flags);
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
                                                             std::uint64_t kinds) {
  if (!fence) return error(Error::InvalidArgument, "expected a fence, found null");
  tenon_external_fence known{};
  TENON_RETURN_IF_ERROR(read_struct("a fence", *fence, known));
  const tenon_external_fence* const from = &known;
  ExternalFence out;
  out.kind = static_cast<FenceKind>(from->kind);
  if (!has_kind(kinds, from->kind)) {
    return error(Error::NotSupported, "fences of kind ", from->kind, " (", name_of(out.kind),
                 ") are not known");
  }
  TENON_RETURN_IF_ERROR(check_handle(out.kind, from->descriptor, from->handle));
  const bool has_timeline =
      out.kind == FenceKind::SemaphoreFd || out.kind == FenceKind::SemaphoreWin32;
  if (from->reserved != 0 || (from->value != 0 && !has_timeline)) {
    return error(Error::InvalidArgument, name_of(out.kind), ": expected no value, found ",
                 from->value, " and ", from->reserved, " in the reserved member");
  }
  out.descriptor = static_cast<int>(from->descriptor);
  out.handle = from->handle;
  out.value = from->value;
  return out;
}

}  // namespace detail
}  // namespace tenon::inline TENON_RELEASE
