// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "tenon/abi/version.h"
#include "tenon/host/platform/impl/pages.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// Pages that must not be touched, and the rule that an access breaks.
struct ForbiddenPages {
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::uintptr_t> end{0};
  std::atomic<const char*> rule{nullptr};  ///< Static text: "TN-INI-5".
  std::atomic<const char*> what{nullptr};  ///< Static text: "behind the blob".
};

/// All forbidden pages of the process, readable from a signal handler. When the table is full,
/// further pages still fault, without a name.
inline std::array<ForbiddenPages, 2048>& forbidden_pages() noexcept {
  static std::array<ForbiddenPages, 2048> table;
  return table;
}

/// The entry that contains `address`, or null. Async-signal-safe.
[[nodiscard]] const ForbiddenPages* find_forbidden(std::uintptr_t address) noexcept;

/// The rule that an access breaks, and its place; both are static texts.
struct Forbidden {
  const char* rule;
  const char* what;
};

/// Names faults in a range of addresses during its lifetime. For memory that its owner has
/// protected already, such as a mapped file. Single owner, any thread.
class NamedPages {
 public:
  NamedPages(const void* begin, std::size_t size, Forbidden why) noexcept;
  NamedPages(NamedPages&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
  NamedPages& operator=(NamedPages&& other) noexcept {
    std::swap(entry_, other.entry_);
    return *this;
  }
  ~NamedPages() {
    if (!entry_) return;
    entry_->end = 0;
    entry_->begin = 0;
  }

 private:
  ForbiddenPages* entry_ = nullptr;
};

/// Bytes with a forbidden page on either side, so that an access outside of them faults where it
/// happens instead of reaching other memory.
///
/// The bytes end at the page behind them, up to `alignment`; the gap between them and the page
/// before them is filled and can be checked. Single owner, any thread.
class GuardedMemory {
 public:
  GuardedMemory() = default;

  /// `size` bytes, zero, at a multiple of `alignment` (a power of two up to 4096) plus `offset`.
  /// `outside` names an access before or behind them. Throws std::bad_alloc.
  GuardedMemory(std::size_t size, std::size_t alignment, Forbidden outside, std::size_t offset = 0);
  GuardedMemory(GuardedMemory&& other) noexcept { swap(other); }
  GuardedMemory& operator=(GuardedMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~GuardedMemory();

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {data_, size_}; }

  /// Whether the gaps between the bytes and the forbidden pages are unchanged.
  [[nodiscard]] bool is_intact() const noexcept;

  /// From now on a write faults, and is named `why`.
  void forbid_writes(Forbidden why) noexcept;
  /// From now on any access faults, and is named `why`.
  void forbid(Forbidden why) noexcept;
  /// Allows every access again.
  void allow() noexcept;

 private:
  static constexpr int sentinel = 0xC5;

  void close(host::platform::PageAccess access, Forbidden why) noexcept;

  void swap(GuardedMemory& other) noexcept {
    std::swap(pages_, other.pages_);
    std::swap(inner_, other.inner_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(before_, other.before_);
    std::swap(behind_, other.behind_);
    std::swap(closed_, other.closed_);
  }

  std::byte* pages_ = nullptr;
  std::size_t inner_ = 0;  // Bytes between the two forbidden pages.
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::optional<NamedPages> before_, behind_, closed_;
};

}}}  // namespace tenon::TENON_RELEASE::conformance
