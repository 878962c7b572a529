// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>

namespace tenon::fuzz {

/// The choices of one step of a script. Where a step has no more bytes each choice is 0, by which a
/// peer does as it should.
class Choices {
 public:
  Choices() noexcept = default;
  explicit Choices(std::span<const std::byte> bytes) noexcept : left_(bytes) {}

  std::uint8_t byte() noexcept {
    if (left_.empty()) return 0;
    const auto out = std::to_integer<std::uint8_t>(left_.front());
    left_ = left_.subspan(1);
    return out;
  }
  /// A number below `count`, of at most 256.
  std::size_t below(std::size_t count) noexcept { return byte() % count; }
  /// True for one byte in sixteen.
  bool rarely() noexcept { return byte() >= 0xf0; }
  bool often() noexcept { return byte() % 2 != 0; }

  /// A small number, one at the edge of something, or any.
  std::uint64_t number() noexcept {
    static constexpr std::uint64_t edges[] = {0xff,        0x100,
                                              0xfff,       0x1000,
                                              0x1001,      0xffff,
                                              0x10000,     0x10001,
                                              0x11000,     0x7fffffff,
                                              0x80000000,  0xfffffff8,
                                              0xfffffffe,  0xffffffff,
                                              0x100000000, 1ull << 28,
                                              1ull << 30,  (1ull << 30) + 1,
                                              1ull << 36,  1ull << 40,
                                              1ull << 42,  1ull << 61,
                                              1ull << 62,  (1ull << 63) - 1,
                                              1ull << 63,  (1ull << 63) + 1,
                                              ~0ull - 63,  ~0ull - 7,
                                              ~0ull - 1,   ~0ull};
    const std::uint8_t first = byte();
    constexpr std::size_t begin = 0xff - std::size(edges);
    if (first < begin) return first;
    if (first != 0xff) return edges[first - begin];
    std::uint64_t out = 0;
    const auto bytes = take(sizeof out);
    if (!bytes.empty()) std::memcpy(&out, bytes.data(), bytes.size());
    return out;
  }
  /// `usual` for most bytes, otherwise a number.
  std::uint64_t number_or(std::uint64_t usual) noexcept { return byte() < 0xd8 ? usual : number(); }

  /// The next `size` bytes, or all that are left.
  std::span<const std::byte> take(std::size_t size) noexcept {
    const auto out = left_.first(std::min(size, left_.size()));
    left_ = left_.subspan(out.size());
    return out;
  }

 private:
  std::span<const std::byte> left_;
};

/// An input as steps: each is a byte with a size, and as many bytes. A change of one step leaves
/// the others as they are.
class Script {
 public:
  explicit Script(std::span<const std::byte> bytes) noexcept : left_(bytes) {}

  /// False when there are no more.
  bool next(Choices& out) noexcept {
    if (left_.empty()) return false;
    const std::size_t size =
        std::min<std::size_t>(std::to_integer<std::size_t>(left_.front()), left_.size() - 1);
    out = Choices(left_.subspan(1, size));
    left_ = left_.subspan(1 + size);
    return true;
  }

 private:
  std::span<const std::byte> left_;
};

}  // namespace tenon::fuzz
