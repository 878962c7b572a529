// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

/// libFuzzer's own mutations, for a custom mutator. Writes up to `max_size` bytes.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace tenon::fuzz {

/// Numbers for one mutation: splitmix64, whose whole state is the seed that libFuzzer gives.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  [[nodiscard]] std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t out = state_;
    out = (out ^ (out >> 30)) * 0xbf58476d1ce4e5b9;
    out = (out ^ (out >> 27)) * 0x94d049bb133111eb;
    return out ^ (out >> 31);
  }
  /// From 0 to `count` - 1; 0 when `count` is 0.
  [[nodiscard]] std::size_t below(std::size_t count) noexcept {
    return count == 0 ? 0 : static_cast<std::size_t>(next() % count);
  }
  [[nodiscard]] bool one_in(std::size_t count) noexcept { return below(count) == 0; }

  template <class List>
  [[nodiscard]] auto& pick(List&& list) noexcept {
    return list[below(std::size(list))];
  }

 private:
  std::uint64_t state_;
};

/// libFuzzer's own mutations, of all the input.
[[nodiscard]] inline std::size_t mutate_bytes(std::span<std::uint8_t> input, std::size_t size) {
  return LLVMFuzzerMutate(input.data(), size, input.size());
}

/// Mutates a text or list of bytes, which becomes no longer than `longest`.
template <class Text>
void mutate_text(Text& text, std::size_t longest) {
  const std::size_t size = text.size() < longest ? text.size() : longest;
  text.resize(longest);
  text.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(text.data()), size, longest));
}

/// Makes `content` the input; false when it does not fit, and the input is as it was.
[[nodiscard]] inline bool replace(std::span<std::uint8_t> input, std::size_t& size,
                                  std::span<const std::byte> content) {
  if (content.size() > input.size()) return false;
  if (!content.empty()) std::memcpy(input.data(), content.data(), content.size());
  size = content.size();
  return true;
}

}  // namespace tenon::fuzz
