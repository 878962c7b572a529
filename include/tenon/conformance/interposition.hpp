// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tenon/conformance/faults.hpp"

/// What functions of the C library that a program puts in front of its own (interpose.hpp) know of
/// the plugin, and what they count. Constant-initialised: they are called before `main`.
namespace tenon::conformance {

/// How deep this thread is inside functions of the plugin; 0 while it is in the host's, also in
/// those that the plugin calls. A thread that the plugin started is never inside.
inline constinit thread_local int plugin_depth = 0;

/// While it lives, this thread is inside the plugin.
class InsidePlugin {
 public:
  InsidePlugin() noexcept { ++plugin_depth; }
  InsidePlugin(const InsidePlugin&) = delete;
  InsidePlugin& operator=(const InsidePlugin&) = delete;
  ~InsidePlugin() { --plugin_depth; }
};

/// While it lives, this thread is in the host, which the plugin called.
class OutsidePlugin {
 public:
  OutsidePlugin() noexcept : depth_(plugin_depth) { plugin_depth = 0; }
  OutsidePlugin(const OutsidePlugin&) = delete;
  OutsidePlugin& operator=(const OutsidePlugin&) = delete;
  ~OutsidePlugin() { plugin_depth = depth_; }

 private:
  int depth_;
};

/// Any thread; nothing here takes memory.
struct Interposition {
  /// Whether the program has interpose.hpp, so that the rest means anything.
  std::atomic<bool> present = false;

  // Of the whole process, by malloc and its like; operator new calls them.
  std::atomic<std::int64_t> live_blocks = 0;
  std::atomic<std::int64_t> live_bytes = 0;
  /// Blocks that were taken inside the plugin, since the start of the process.
  std::atomic<std::uint64_t> plugin_allocations = 0;

  /// What says which file operation inside the plugin fails; null: none does. Must outlive its
  /// being here.
  std::atomic<Faults*> faults = nullptr;

  /// Whether `free` inside the plugin looks for the host's blocks among what it gets.
  std::atomic<bool> watch_lent = false;
  /// The host's blocks that the plugin gave to `free`; they were not freed.
  std::atomic<std::uint32_t> lent_and_freed = 0;

  /// Notes a block that the host lends. The latest are known.
  void lend(void* block) noexcept {
    if (watch_lent) lent_[next_lent_.fetch_add(1) % lent_.size()] = block;
  }
  /// Forgets `block`, or all for null.
  void take_back(const void* block) noexcept {
    for (std::atomic<void*>& entry : lent_) {
      if (!block || entry == block) entry = nullptr;
    }
  }
  [[nodiscard]] bool is_lent(const void* block) const noexcept {
    for (const std::atomic<void*>& entry : lent_) {
      if (entry == block) return true;
    }
    return false;
  }

 private:
  std::array<std::atomic<void*>, 256> lent_{};
  std::atomic<std::uint32_t> next_lent_ = 0;
};
inline constinit Interposition interposition;

}  // namespace tenon::conformance
