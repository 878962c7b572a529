// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "tenon/core/api.hpp"
#include "tenon/host/platform/pages.hpp"

namespace tenon::conformance {

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
[[nodiscard]] TENON_API const ForbiddenPages* find_forbidden(std::uintptr_t address) noexcept;

/// The rule that an access breaks, and its place; both are static texts.
struct Forbidden {
  const char* rule;
  const char* what;
};

/// Names faults in a range of addresses during its lifetime. For memory of others that is protected
/// already, such as a mapped file. Single owner, any thread.
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

}  // namespace tenon::conformance

#if TENON_CONFORMANCE_DEFINITIONS

#include <cstring>
#include <new>

namespace tenon::conformance {

TENON_API const ForbiddenPages* find_forbidden(std::uintptr_t address) noexcept {
  for (const ForbiddenPages& pages : forbidden_pages()) {
    if (pages.begin.load() <= address && address < pages.end.load()) return &pages;
  }
  return nullptr;
}

TENON_API NamedPages::NamedPages(const void* begin, std::size_t size, Forbidden why) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  for (ForbiddenPages& entry : forbidden_pages()) {
    std::uintptr_t none = 0;
    if (!entry.begin.compare_exchange_strong(none, address)) continue;
    entry.rule = why.rule;
    entry.what = why.what;
    entry.end = address + size;
    entry_ = &entry;
    return;
  }
}

TENON_API GuardedMemory::GuardedMemory(std::size_t size, std::size_t alignment, Forbidden outside,
                                       std::size_t offset)
    : size_(size) {
  const std::size_t page = host::platform::page_size();
  inner_ = (size + alignment + offset + page - 1) / page * page;
  void* pages = host::platform::take_pages(inner_ + 2 * page);
  if (!pages) throw std::bad_alloc();
  pages_ = static_cast<std::byte*>(pages);
  host::platform::protect_pages(pages_, page, host::platform::PageAccess::none);
  host::platform::protect_pages(pages_ + page + inner_, page, host::platform::PageAccess::none);
  std::memset(pages_ + page, sentinel, inner_);
  const std::size_t last = (inner_ - size - offset) / alignment * alignment;
  data_ = pages_ + page + last + offset;
  std::memset(data_, 0, size);
  before_.emplace(pages_, page, outside);
  behind_.emplace(pages_ + page + inner_, page, outside);
}

TENON_API GuardedMemory::~GuardedMemory() {
  before_.reset();
  behind_.reset();
  closed_.reset();
  if (pages_) host::platform::give_back_pages(pages_, inner_ + 2 * host::platform::page_size());
}

TENON_API bool GuardedMemory::is_intact() const noexcept {
  const std::byte* inner = pages_ + host::platform::page_size();
  for (const std::byte* at = inner; at != inner + inner_; ++at) {
    if ((at < data_ || at >= data_ + size_) && *at != std::byte{sentinel}) return false;
  }
  return true;
}

TENON_API void GuardedMemory::forbid_writes(Forbidden why) noexcept {
  close(host::platform::PageAccess::read, why);
}

TENON_API void GuardedMemory::forbid(Forbidden why) noexcept {
  close(host::platform::PageAccess::none, why);
}

TENON_API void GuardedMemory::allow() noexcept {
  closed_.reset();
  if (!pages_) return;
  host::platform::protect_pages(pages_ + host::platform::page_size(), inner_,
                                host::platform::PageAccess::read_and_write);
}

TENON_API void GuardedMemory::close(host::platform::PageAccess access, Forbidden why) noexcept {
  std::byte* const inner = pages_ + host::platform::page_size();
  closed_.emplace(inner, inner_, why);
  host::platform::protect_pages(inner, inner_, access);
}

}  // namespace tenon::conformance

#endif  // TENON_CONFORMANCE_DEFINITIONS
