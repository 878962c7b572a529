// SPDX-License-Identifier: MIT
#pragma once

#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/platform/platform.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <new>
#include <string>

#include "tenon/abi/host.h"
#include "tenon/core/result.hpp"
#include "tenon/executorch/error.hpp"

/// Objects that ExecuTorch lends a backend, as a plugin sees them. Their addresses must not change.
namespace tenon { inline namespace TENON_RELEASE { namespace bridge::adapter {

/// Wraps an allocator of ExecuTorch. One thread at a time, as the allocator itself.
struct BorrowedAllocator : tenon_allocator {
  et::MemoryAllocator* memory = nullptr;

  BorrowedAllocator() noexcept : tenon_allocator{sizeof(tenon_allocator), 0, &take} {}
  BorrowedAllocator(const BorrowedAllocator&) = delete;
  BorrowedAllocator& operator=(const BorrowedAllocator&) = delete;

 private:
  static void* take(tenon_allocator* table, std::uint64_t nbytes,
                    std::uint64_t alignment) noexcept {
    auto* const memory = static_cast<BorrowedAllocator*>(table)->memory;
    if (!memory || alignment == 0 || (alignment & (alignment - 1)) != 0) return nullptr;
    // Null means failure, also for no bytes.
    return memory->allocate(std::max<std::size_t>(nbytes, 1), alignment);
  }
};

/// ExecuTorch's event tracer. Its clock has ticks, a plugin's has nanoseconds. A plugin may report
/// from several threads; a mutex serialises them, because ExecuTorch's tracer is for one thread.
struct BorrowedTracer : tenon_tracer {
  et::EventTracer* tracer = nullptr;

  BorrowedTracer() noexcept : tenon_tracer{sizeof(tenon_tracer), 0, &read_clock, &log, nullptr} {}
  BorrowedTracer(const BorrowedTracer&) = delete;
  BorrowedTracer& operator=(const BorrowedTracer&) = delete;

  /// The tracer of a context: null when events are not recorded.
  [[nodiscard]] const tenon_tracer* table() const noexcept { return tracer ? this : nullptr; }

 private:
  __extension__ using Wide = unsigned __int128;

  static std::uint64_t read_clock(const tenon_tracer*) noexcept {
    const et_tick_ratio_t ratio = et::pal_ticks_to_ns_multiplier();
    return static_cast<std::uint64_t>(Wide{et::pal_current_ticks()} * ratio.numerator /
                                      ratio.denominator);
  }
  static et_timestamp_t ticks(std::uint64_t nanoseconds) noexcept {
    const et_tick_ratio_t ratio = et::pal_ticks_to_ns_multiplier();
    return static_cast<et_timestamp_t>(Wide{nanoseconds} * ratio.denominator / ratio.numerator);
  }

  /// ExecuTorch's tracers take a name or a number for an event and abort when given both. The
  /// number takes precedence, because the map made ahead of time has it; the name is then passed as
  /// metadata, unless the event has metadata.
  static void log(const tenon_tracer* table, const char* name, std::uint64_t name_size,
                  std::int64_t debug_handle, std::uint64_t start_ns, std::uint64_t end_ns,
                  const void* metadata, std::uint64_t metadata_size) noexcept {
    auto& self = *const_cast<BorrowedTracer*>(static_cast<const BorrowedTracer*>(table));
    constexpr std::int64_t largest = std::numeric_limits<et::DelegateDebugIntId>::max();
    const bool by_number = debug_handle >= 0 && debug_handle <= largest;
    const std::size_t size = name ? static_cast<std::size_t>(name_size) : 0;
    if (by_number && metadata_size == 0) {
      metadata = name;
      metadata_size = size;
    }
    try {
      const std::string text(name ? name : "", size);
      const std::lock_guard lock(self.mutex_);
      self.tracer->log_profiling_delegate(
          by_number ? nullptr : text.c_str(),
          by_number ? static_cast<et::DelegateDebugIntId>(debug_handle)
                    : et::kUnsetDelegateDebugIntId,
          ticks(start_ns), ticks(end_ns), metadata, static_cast<std::size_t>(metadata_size));
    } catch (const std::bad_alloc&) {
      // The event is lost; the run is not.
    }
  }

  std::mutex mutex_;
};

/// Releases the bytes of a `tenon_buffer` to ExecuTorch, once, also when several threads ask.
/// `owner` is the FreeableBuffer, and null afterwards.
inline void release_freeable(tenon_buffer* buffer) noexcept {
  void* const owner = __atomic_exchange_n(&buffer->owner, nullptr, __ATOMIC_ACQ_REL);
  if (!owner) return;
  static_cast<et::FreeableBuffer*>(owner)->Free();
  buffer->data = nullptr;
  buffer->nbytes = 0;
}

/// Fills `out` with the bytes of `from`, whose address must not change.
///
/// errors: InvalidType for bytes that only another processor can address.
inline Status fill_buffer(et::FreeableBuffer& from, tenon_buffer& out) {
  const auto data = from.data_safe();
  if (!data.ok()) {
    return error(from_executorch(data.error()),
                 "the bytes are in memory that this processor cannot address");
  }
  const std::size_t nbytes = from.size();
  out.data = nbytes == 0 ? nullptr : *data;
  out.nbytes = nbytes;
  out.owner = &from;
  out.release = &release_freeable;
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::bridge::adapter
