// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "tenon/abi/host.h"
#include "tenon/host/loader/impl/method/memory_limit.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Memory that is handed out piece by piece and given back at once. Also the allocator that a
/// plugin sees: `table()`.
///
/// `reset` keeps the largest block, so that the same work done again takes nothing from the system.
/// One thread at a time. The address of the arena must not change while a plugin holds `table()`.
class Arena {
 public:
  Arena() noexcept { table_ = {sizeof(tenon_allocator), 0, &Arena::allocate_for_plugin}; }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() { free_blocks(); }

  /// Takes room for about `nbytes` from the system at once; without memory there is none until it
  /// is needed. Only while nothing was handed out.
  void reserve(std::size_t nbytes) noexcept { add_block(nbytes); }

  /// From now on `limit` counts each new block, and there is no memory above it. It must outlive
  /// the arena; null: there is none.
  void set_limit(detail::MemoryLimit* limit) noexcept {
    limit_ = limit;
    counted_ = nbytes();
  }

  /// Counts `nbytes` that others take from the system as if a block had them; false, and nothing is
  /// counted, when that is above the limit.
  [[nodiscard]] bool count(std::uint64_t nbytes) noexcept {
    if (!limit_ || limit_->take(nbytes)) return true;
    limit_->forget_refusal();
    return false;
  }

  /// Bytes of all blocks, which is what was taken from the system.
  [[nodiscard]] std::uint64_t nbytes() const noexcept {
    std::uint64_t sum = 0;
    for (const Block* block = block_; block; block = block->previous) sum += block->nbytes;
    return sum;
  }
  /// Bytes that were handed out, and those between them. Of an arena that is not reset.
  [[nodiscard]] std::uint64_t num_handed_out() const noexcept { return filled_ + next_ - begin_; }

  /// `nbytes` bytes aligned to `alignment` (a power of two), or null when there is no memory or the
  /// alignment is not one.
  [[nodiscard]] void* allocate(std::uint64_t nbytes, std::uint64_t alignment) noexcept {
    if (alignment == 0 || (alignment & (alignment - 1)) != 0) return nullptr;
    return take(nbytes, alignment);
  }

  /// Room for `count` objects, not initialised, or null.
  template <class T>
    requires std::is_trivially_destructible_v<T>
  [[nodiscard]] T* allocate_list(std::size_t count) noexcept {
    if (count > PTRDIFF_MAX / sizeof(T)) return nullptr;
    return static_cast<T*>(take(count * sizeof(T), alignof(T)));
  }

  /// Gives everything back that was handed out.
  void reset() noexcept {
    if (next_ == begin_) return;
    if (block_ && block_->previous) {
      Block* older = std::exchange(block_->previous, nullptr);
      free_chain(older);
    }
    next_ = begin_;
  }

  [[nodiscard]] tenon_allocator* table() noexcept { return &table_; }

 private:
  struct Block {
    Block* previous;
    std::uint64_t nbytes;  ///< Behind it.
  };
  static constexpr std::uint64_t first_block_size = 4096;
  static constexpr std::uint64_t max_growth = std::uint64_t{1} << 26;

  static void* allocate_for_plugin(tenon_allocator* table, std::uint64_t nbytes,
                                   std::uint64_t alignment) {
    static_assert(std::is_standard_layout_v<Arena>);
    return reinterpret_cast<Arena*>(table)->allocate(nbytes, alignment);
  }

  /// In place of each call: for a known alignment it is a few instructions.
  [[gnu::always_inline]] void* take(std::uint64_t nbytes, std::uint64_t alignment) noexcept {
    nbytes += nbytes == 0;  // Null means failure, also for no bytes.
    const auto at = (next_ + (alignment - 1)) & ~(alignment - 1);
    if (at < next_ || at > end_ || end_ - at < nbytes) [[unlikely]]
      return take_from_new_block(nbytes, alignment);
    next_ = at + nbytes;
    return reinterpret_cast<void*>(at);
  }

  [[gnu::cold]] void* take_from_new_block(std::uint64_t nbytes, std::uint64_t alignment) noexcept {
    if (!grow(nbytes, alignment)) return nullptr;
    const auto at = (next_ + (alignment - 1)) & ~(alignment - 1);
    next_ = at + nbytes;
    return reinterpret_cast<void*>(at);
  }

  bool grow(std::uint64_t nbytes, std::uint64_t alignment) noexcept {
    const std::uint64_t doubled = std::min<std::uint64_t>(2 * (end_ - begin_), max_growth);
    // What malloc gives is aligned as any object is.
    const std::uint64_t padding = alignment > alignof(std::max_align_t) ? alignment : 0;
    std::uint64_t needed = nbytes;
    if (__builtin_add_overflow(needed, padding, &needed) || needed > PTRDIFF_MAX - sizeof(Block)) {
      return false;
    }
    const std::uint64_t usual = std::max({needed, doubled, first_block_size - sizeof(Block)});
    if (!limit_) return add_block(usual);
    // Near the limit there is no room for what comes later.
    return add_counted_block(usual) || (usual != needed && add_counted_block(needed));
  }

  bool add_counted_block(std::uint64_t nbytes) noexcept {
    // `reset`, which is in the loop over instructions, leaves counting to the next block.
    const std::uint64_t held = this->nbytes();
    limit_->give(counted_ - held);
    counted_ = held;
    if (!limit_->take(nbytes)) return false;
    limit_->forget_refusal();
    if (add_block(nbytes)) {
      counted_ += nbytes;
      return true;
    }
    limit_->give(nbytes);
    return false;
  }

  bool add_block(std::uint64_t nbytes) noexcept {
    auto* block =
        static_cast<Block*>(std::malloc(static_cast<std::size_t>(nbytes) + sizeof(Block)));
    if (!block) return false;
    block->previous = block_;
    block->nbytes = nbytes;
    block_ = block;
    filled_ += next_ - begin_;
    begin_ = next_ = reinterpret_cast<std::uint64_t>(block + 1);
    end_ = begin_ + nbytes;
    return true;
  }

  static void free_chain(Block* block) noexcept {
    while (block) std::free(std::exchange(block, block->previous));
  }
  void free_blocks() noexcept { free_chain(std::exchange(block_, nullptr)); }

  tenon_allocator table_;  // First, so that a plugin's pointer to it is a pointer to the arena.
  std::uint64_t next_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t begin_ = 0;
  Block* block_ = nullptr;
  std::uint64_t filled_ = 0;  ///< Bytes handed out of older blocks.
  detail::MemoryLimit* limit_ = nullptr;
  std::uint64_t counted_ = 0;  ///< Bytes of blocks at the latest count.
};

}}}  // namespace tenon::TENON_RELEASE::host
