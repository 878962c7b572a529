// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/core/bytes.hpp"

namespace tenon::aot {
namespace detail {

/// The function of FIPS 180-4, for what is small: keys and names. A plugin may hash without linking
/// a library; hosts, which hash files, use a library (tenon/host/sha256.hpp).
class Sha256 {
 public:
  void add(Bytes bytes) noexcept {
    for (const std::byte one : bytes) {
      block_[size_ % block_.size()] = static_cast<std::uint8_t>(one);
      if (++size_ % block_.size() == 0) compress();
    }
  }

  /// 64 digits, lower case. Nothing may be added afterwards.
  [[nodiscard]] std::string finish() {
    const std::uint64_t bits = size_ * 8;
    constexpr std::byte one{0x80};
    constexpr std::byte zero{0};
    add(Bytes(&one, 1));
    while (size_ % block_.size() != block_.size() - sizeof bits) add(Bytes(&zero, 1));
    for (unsigned shift = 64; shift != 0; shift -= 8) {
      const auto part = static_cast<std::byte>(bits >> (shift - 8) & 0xff);
      add(Bytes(&part, 1));
    }
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out;
    for (const std::uint32_t word : state_) {
      for (unsigned shift = 32; shift != 0; shift -= 4) out += digits[word >> (shift - 4) & 15];
    }
    return out;
  }

 private:
  /// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
  static constexpr std::array<std::uint32_t, 64> constants{
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
      0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
      0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
      0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
      0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
      0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
      0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
      0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
      0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
      0xc67178f2};

  void compress() noexcept {
    using std::rotr;
    std::array<std::uint32_t, 64> words{};
    for (std::size_t i = 0; i < 16; ++i) {
      for (std::size_t j = 0; j < 4; ++j) words[i] = words[i] << 8 | block_[4 * i + j];
    }
    for (std::size_t i = 16; i < words.size(); ++i) {
      const std::uint32_t a = words[i - 15];
      const std::uint32_t b = words[i - 2];
      words[i] = words[i - 16] + (rotr(a, 7) ^ rotr(a, 18) ^ a >> 3) + words[i - 7] +
                 (rotr(b, 17) ^ rotr(b, 19) ^ b >> 10);
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::uint32_t first = h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) +
                                  ((e & f) ^ (~e & g)) + constants[i] + words[i];
      const std::uint32_t second =
          (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g;
      g = f;
      f = e;
      e = d + first;
      d = c;
      c = b;
      b = a;
      a = first + second;
    }
    const std::array<std::uint32_t, 8> sums{a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < sums.size(); ++i) state_[i] += sums[i];
  }

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> block_{};
  std::uint64_t size_ = 0;
};

}  // namespace detail

/// SHA-256 as 64 digits, lower case. For names that follow from content, as of keys whose data
/// several methods share. About 150 MB/s: not for weights.
[[nodiscard]] inline std::string sha256_hex(Bytes bytes) {
  detail::Sha256 hasher;
  hasher.add(bytes);
  return hasher.finish();
}

}  // namespace tenon::aot
