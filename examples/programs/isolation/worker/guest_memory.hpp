// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "boundary/descriptors.hpp"
#include "tenon/abi/host.h"

namespace tenon::isolated {

/// Memory for a delegate until its end, or for one call: `reset`.
class GuestAllocator : public tenon_allocator {
 public:
  GuestAllocator() noexcept : tenon_allocator{sizeof(tenon_allocator), 0, &take} {}
  GuestAllocator(const GuestAllocator&) = delete;
  GuestAllocator& operator=(const GuestAllocator&) = delete;

  /// Frees all blocks, and keeps one for later.
  void reset() noexcept {
    if (chunks_.size() > 1) chunks_.erase(chunks_.begin(), chunks_.end() - 1);
    used_ = 0;
  }

 private:
  struct Chunk {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size = 0;
  };

  static void* take(tenon_allocator* self, std::uint64_t size, std::uint64_t alignment) noexcept {
    return static_cast<GuestAllocator*>(self)->allocate(size, alignment);
  }
  void* allocate(std::uint64_t size, std::uint64_t alignment) noexcept {
    if (alignment == 0 || (alignment & (alignment - 1)) != 0) return nullptr;
    if (!chunks_.empty()) {
      if (void* const out = fit(size, alignment)) return out;
    }
    std::uint64_t wanted = 0;
    if (__builtin_add_overflow(size, alignment, &wanted) || wanted > PTRDIFF_MAX) return nullptr;
    Chunk chunk;
    chunk.size = std::max<std::size_t>(static_cast<std::size_t>(wanted), min_chunk);
    chunk.bytes.reset(new (std::nothrow) std::byte[chunk.size]);
    if (!chunk.bytes) return nullptr;
    try {
      chunks_.push_back(std::move(chunk));
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
    used_ = 0;
    return fit(size, alignment);
  }
  void* fit(std::uint64_t size, std::uint64_t alignment) noexcept {
    const Chunk& chunk = chunks_.back();
    const auto begin = reinterpret_cast<std::uintptr_t>(chunk.bytes.get());
    const std::uintptr_t at = (begin + used_ + alignment - 1) & ~(alignment - 1);
    const std::size_t before = at - begin;
    if (before > chunk.size || size > chunk.size - before) return nullptr;
    used_ = before + static_cast<std::size_t>(size);
    return chunk.bytes.get() + before;
  }

  static constexpr std::size_t min_chunk = std::size_t{64} * 1024;
  std::vector<Chunk> chunks_;
  std::size_t used_ = 0;  // Of the last chunk.
};

/// Bytes of the application, mapped read-only. Unmapped by `release`, or with the object.
class GuestBlob : public tenon_buffer {
 public:
  GuestBlob() noexcept : tenon_buffer{sizeof(tenon_buffer), 0, nullptr, 0, this, &give_back} {}
  GuestBlob(const GuestBlob&) = delete;
  GuestBlob& operator=(const GuestBlob&) = delete;

  /// Whether the plugin has given it back.
  [[nodiscard]] bool is_released() const noexcept { return is_released_; }

  void set(Mapping mapping) noexcept {
    mapping_ = std::move(mapping);
    data = mapping_.data();
    nbytes = mapping_.size();
  }

 private:
  static void give_back(tenon_buffer* buffer) noexcept {
    auto& self = *static_cast<GuestBlob*>(buffer->owner);
    self.mapping_ = Mapping();
    self.is_released_ = true;
    buffer->data = nullptr;
    buffer->nbytes = 0;
  }

  Mapping mapping_;
  bool is_released_ = false;
};

}  // namespace tenon::isolated
