// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kit/process/faults.hpp"

/// The state and the counts of the functions that a program defines in place of the C library's
/// (interpose.hpp). Constant-initialised: they are called before `main`.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// The depth of calls of the plugin on this thread; 0 while it runs functions of the host,
/// including those that the plugin calls, and on threads that the plugin started.
inline constinit thread_local int plugin_depth = 0;

/// Changes of the environment's variables inside the plugin, since they were last read. Of one
/// thread.
struct EnvironmentChanges {
  std::uint32_t count = 0;
  std::array<char, 64> first{};  ///< Name of the first variable, cut; ends with NUL.
};
inline constinit thread_local EnvironmentChanges environment_changes{};

/// Marks this thread as inside the plugin during its lifetime.
class InsidePlugin {
 public:
  InsidePlugin() noexcept { ++plugin_depth; }
  InsidePlugin(const InsidePlugin&) = delete;
  InsidePlugin& operator=(const InsidePlugin&) = delete;
  ~InsidePlugin() { --plugin_depth; }
};

/// Marks this thread as inside the host, which the plugin called, during its lifetime.
class OutsidePlugin {
 public:
  OutsidePlugin() noexcept : depth_(plugin_depth) { plugin_depth = 0; }
  OutsidePlugin(const OutsidePlugin&) = delete;
  OutsidePlugin& operator=(const OutsidePlugin&) = delete;
  ~OutsidePlugin() { plugin_depth = depth_; }

 private:
  int depth_;
};

/// Any thread; nothing here allocates memory.
struct Interposition {
  /// Whether the program includes interpose.hpp; the rest is valid only then.
  std::atomic<bool> present = false;

  // Blocks of malloc and similar functions, of the whole process; operator new calls them.
  std::atomic<std::int64_t> live_blocks = 0;
  std::atomic<std::int64_t> live_bytes = 0;
  /// Blocks that were allocated inside the plugin since the start of the process.
  std::atomic<std::uint64_t> plugin_allocations = 0;

  /// Decides which file operation inside the plugin fails; none with null. Borrowed while set.
  std::atomic<Faults*> faults = nullptr;

  /// Whether `free` inside the plugin checks for blocks of the host.
  std::atomic<bool> watch_lent = false;
  /// Blocks of the host that the plugin passed to `free`; they were not freed. `Watch` reports
  /// them.
  std::atomic<std::uint32_t> lent_and_freed = 0;

  /// Notes a block that the host lends. The latest 256 are known.
  void lend(void* block) noexcept {
    if (watch_lent) lent_[next_lent_.fetch_add(1) % lent_.size()] = block;
  }
  /// Forgets `block`, or all with null.
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

}}}  // namespace tenon::TENON_RELEASE::conformance
