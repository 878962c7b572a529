// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "boundary/messages.hpp"
#include "fuzz/peers/choices.hpp"

namespace tenon::fuzz {

/// Changes a message that is well-formed, for one choice in three.
inline void damage(std::vector<std::byte>& bytes, Choices& choices) {
  if (choices.byte() < 0xb0) return;
  const std::size_t count = 1 + choices.below(4);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = bytes.empty() ? 0 : choices.byte() % bytes.size();
    switch (choices.below(5)) {
      case 0: {
        const std::uint64_t number = choices.number();
        const std::size_t size = std::min(sizeof number, bytes.size() - at);
        if (size != 0) std::memcpy(bytes.data() + at, &number, size);
        break;
      }
      case 1:
        bytes.resize(at);
        break;
      case 2: {
        const auto more = choices.take(choices.below(32));
        bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), more.begin(), more.end());
        break;
      }
      case 3:
        if (!bytes.empty()) bytes[at] ^= static_cast<std::byte>(1u << choices.below(8));
        break;
      default:
        // More than a lane holds, for the largest of them.
        bytes.resize(bytes.size() + (std::size_t{choices.byte()} << 9));
    }
  }
}

/// Puts a text of up to 15 bytes.
inline void put_text(isolated::Writer& to, Choices& choices) {
  const auto bytes = choices.take(choices.below(16));
  to.put_bytes(bytes.data(), bytes.size());
}

/// Puts a text that may be absent.
inline void put_name(isolated::Writer& to, Choices& choices) {
  const bool is_there = !choices.often();
  to.put<std::uint8_t>(is_there);
  if (is_there) put_text(to, choices);
}

}  // namespace tenon::fuzz
