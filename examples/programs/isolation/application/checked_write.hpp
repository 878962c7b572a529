// SPDX-License-Identifier: MIT
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

/// Writing to memory of the application that may be read-only, or not there any more: a failure
/// instead of a signal. What was true of an address in one call may be false in the next one.
namespace tenon::isolated {

/// Whether all of `size` bytes can be written, which have the same contents afterwards. The system
/// writes to each page, and reports what a store would fault on: 0.1 us for a page. False for fewer
/// than 4 bytes, which this cannot check, and where the application may not make the call.
[[nodiscard]] inline bool can_write(std::byte* to, std::size_t size) noexcept {
  constexpr std::size_t page_size = 4096;  // Or a part of one.
  const auto can_write_word = [](std::byte* word) {
    std::uint32_t before;
    std::memcpy(&before, word, sizeof before);
    // The cheapest call that writes: the number of the processor.
    if (::syscall(SYS_getcpu, word, nullptr, nullptr) != 0) return false;
    std::memcpy(word, &before, sizeof before);
    return true;
  };
  constexpr std::size_t word_size = sizeof(std::uint32_t);
  if (size < word_size) return false;
  const std::size_t last = size - word_size;
  for (std::size_t at = 0; at < last; at += page_size) {
    if (!can_write_word(to + at)) return false;
  }
  const auto page_of = [](const std::byte* byte) {
    return reinterpret_cast<std::uintptr_t>(byte) / page_size;
  };
  const bool is_known =
      last != 0 && page_of(to + (last - 1) / page_size * page_size) == page_of(to + size - 1);
  return is_known || can_write_word(to + last);
}

/// Copies `bytes`, which are at `at` of `file` as well. False when `to` cannot be written; a part
/// may be then.
[[nodiscard]] inline bool checked_write(std::byte* to, std::span<const std::byte> bytes, int file,
                                        std::uint64_t at) noexcept {
  if (can_write(to, bytes.size())) {
    std::memcpy(to, bytes.data(), bytes.size());
    return true;
  }
  std::size_t done = 0;
  while (done != bytes.size()) {
    const ssize_t now =
        ::pread(file, to + done, bytes.size() - done, static_cast<off_t>(at + done));
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) return false;
    done += static_cast<std::size_t>(now);
  }
  return true;
}

}  // namespace tenon::isolated
