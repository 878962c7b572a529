// SPDX-License-Identifier: MIT
#include "kit/process/guarded_memory.hpp"

#include <cstring>
#include <new>

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

const ForbiddenPages* find_forbidden(std::uintptr_t address) noexcept {
  for (const ForbiddenPages& pages : forbidden_pages()) {
    if (pages.begin.load() <= address && address < pages.end.load()) return &pages;
  }
  return nullptr;
}

NamedPages::NamedPages(const void* begin, std::size_t size, Forbidden why) noexcept {
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

GuardedMemory::GuardedMemory(std::size_t size, std::size_t alignment, Forbidden outside,
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

GuardedMemory::~GuardedMemory() {
  before_.reset();
  behind_.reset();
  closed_.reset();
  if (pages_) host::platform::give_back_pages(pages_, inner_ + 2 * host::platform::page_size());
}

bool GuardedMemory::is_intact() const noexcept {
  const std::byte* inner = pages_ + host::platform::page_size();
  for (const std::byte* at = inner; at != inner + inner_; ++at) {
    if ((at < data_ || at >= data_ + size_) && *at != std::byte{sentinel}) return false;
  }
  return true;
}

void GuardedMemory::forbid_writes(Forbidden why) noexcept {
  close(host::platform::PageAccess::read, why);
}

void GuardedMemory::forbid(Forbidden why) noexcept { close(host::platform::PageAccess::none, why); }

void GuardedMemory::allow() noexcept {
  closed_.reset();
  if (!pages_) return;
  host::platform::protect_pages(pages_ + host::platform::page_size(), inner_,
                                host::platform::PageAccess::read_and_write);
}

void GuardedMemory::close(host::platform::PageAccess access, Forbidden why) noexcept {
  std::byte* const inner = pages_ + host::platform::page_size();
  closed_.emplace(inner, inner_, why);
  host::platform::protect_pages(inner, inner_, access);
}

}}}  // namespace tenon::TENON_RELEASE::conformance
