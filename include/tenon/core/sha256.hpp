// SPDX-License-Identifier: MIT
//
// SHA-256 (FIPS 180-4) without a library: with the instructions of x86-64 and arm64 where they are
// present, in plain C++ elsewhere. Figures next to libmd and OpenSSL:
// docs/project/performance-notes.md.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "tenon/core/bytes.hpp"
#include "tenon/core/hex.hpp"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <cpuid.h>
#define TENON_DETAIL_SHA256_X86 1
#elif defined(__aarch64__) && defined(__ARM_FEATURE_SHA2)
#include <arm_neon.h>
#define TENON_DETAIL_SHA256_ARM 1
#endif

namespace tenon { inline namespace TENON_RELEASE {

/// A hash.
struct Sha256 {
  std::array<std::uint8_t, 32> bytes{};

  /// 64 digits, lower case.
  [[nodiscard]] std::string to_hex() const {
    return tenon::to_hex(std::as_bytes(std::span(bytes)));
  }

  friend bool operator==(const Sha256& a, const Sha256& b) noexcept { return a.bytes == b.bytes; }
};

namespace detail {

using Sha256State = std::array<std::uint32_t, 8>;

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
alignas(16) inline constexpr std::uint32_t sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

inline std::uint32_t load_be32(const std::byte* from) noexcept {
  return std::to_integer<std::uint32_t>(from[0]) << 24 |
         std::to_integer<std::uint32_t>(from[1]) << 16 |
         std::to_integer<std::uint32_t>(from[2]) << 8 | std::to_integer<std::uint32_t>(from[3]);
}

/// One round. Rounds differ in the roles of the eight words, so the caller rotates the arguments
/// and the words stay in their registers.
inline void sha256_round(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t& d,
                         std::uint32_t e, std::uint32_t f, std::uint32_t g, std::uint32_t& h,
                         std::uint32_t word) noexcept {
  using std::rotr;
  const std::uint32_t sum =
      h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + (g ^ (e & (f ^ g))) + word;
  d += sum;
  h = sum + (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & b) | (c & (a | b)));
}

/// Adds `count` blocks of 64 bytes to `state`.
inline void sha256_blocks_portable(Sha256State& state, const std::byte* blocks,
                                   std::size_t count) noexcept {
  using std::rotr;
  for (; count != 0; --count, blocks += 64) {
    std::uint32_t words[64];
    for (std::size_t i = 0; i < 16; ++i) words[i] = load_be32(blocks + 4 * i);
    for (std::size_t i = 16; i < 64; ++i) {
      const std::uint32_t x = words[i - 15];
      const std::uint32_t y = words[i - 2];
      words[i] = words[i - 16] + (rotr(x, 7) ^ rotr(x, 18) ^ x >> 3) + words[i - 7] +
                 (rotr(y, 17) ^ rotr(y, 19) ^ y >> 10);
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (std::size_t i = 0; i < 64; i += 8) {
      const std::uint32_t* const w = words + i;
      const std::uint32_t* const k = sha256_constants + i;
      sha256_round(a, b, c, d, e, f, g, h, w[0] + k[0]);
      sha256_round(h, a, b, c, d, e, f, g, w[1] + k[1]);
      sha256_round(g, h, a, b, c, d, e, f, w[2] + k[2]);
      sha256_round(f, g, h, a, b, c, d, e, w[3] + k[3]);
      sha256_round(e, f, g, h, a, b, c, d, w[4] + k[4]);
      sha256_round(d, e, f, g, h, a, b, c, w[5] + k[5]);
      sha256_round(c, d, e, f, g, h, a, b, w[6] + k[6]);
      sha256_round(b, c, d, e, f, g, h, a, w[7] + k[7]);
    }
    const Sha256State sums{a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < sums.size(); ++i) state[i] += sums[i];
  }
}

#if defined(TENON_DETAIL_SHA256_X86)

// The builtins themselves: <immintrin.h> alone takes longer to compile than the rest of `core`.
#define TENON_DETAIL_SHA256_TARGET __attribute__((target("sha,sse4.1")))
typedef int Sha256Words __attribute__((vector_size(16)));
typedef unsigned Sha256Sums __attribute__((vector_size(16)));
typedef unsigned char Sha256Bytes __attribute__((vector_size(16)));

/// The builtins take signed words, whose sums may overflow.
TENON_DETAIL_SHA256_TARGET inline Sha256Words sha256_add(Sha256Words a, Sha256Words b) noexcept {
  return (Sha256Words)((Sha256Sums)a + (Sha256Sums)b);
}

TENON_DETAIL_SHA256_TARGET inline Sha256Words sha256_load(const std::byte* from) noexcept {
  Sha256Bytes bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  return (Sha256Words)__builtin_shufflevector(bytes, bytes, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8,
                                              15, 14, 13, 12);
}

/// Four rounds.
TENON_DETAIL_SHA256_TARGET inline void sha256_rounds(Sha256Words& abef, Sha256Words& cdgh,
                                                     Sha256Words words,
                                                     const std::uint32_t* constants) noexcept {
  Sha256Words sums;
  std::memcpy(&sums, constants, sizeof sums);
  sums = sha256_add(sums, words);
  cdgh = __builtin_ia32_sha256rnds2(cdgh, abef, sums);
  abef = __builtin_ia32_sha256rnds2(abef, cdgh, __builtin_shufflevector(sums, sums, 2, 3, 2, 3));
}

/// The four words after the sixteen given ones.
TENON_DETAIL_SHA256_TARGET inline Sha256Words sha256_schedule(Sha256Words a, Sha256Words b,
                                                              Sha256Words c,
                                                              Sha256Words d) noexcept {
  return __builtin_ia32_sha256msg2(
      sha256_add(__builtin_ia32_sha256msg1(a, b), __builtin_shufflevector(c, d, 1, 2, 3, 4)), d);
}

TENON_DETAIL_SHA256_TARGET inline void sha256_blocks_native(Sha256State& state,
                                                            const std::byte* blocks,
                                                            std::size_t count) noexcept {
  const auto number = [&](std::size_t i) { return static_cast<int>(state[i]); };
  Sha256Words abef{number(5), number(4), number(1), number(0)};
  Sha256Words cdgh{number(7), number(6), number(3), number(2)};
  for (; count != 0; --count, blocks += 64) {
    const Sha256Words old_abef = abef;
    const Sha256Words old_cdgh = cdgh;
    Sha256Words a = sha256_load(blocks);
    Sha256Words b = sha256_load(blocks + 16);
    Sha256Words c = sha256_load(blocks + 32);
    Sha256Words d = sha256_load(blocks + 48);
    for (std::size_t i = 0;; i += 16) {
      sha256_rounds(abef, cdgh, a, sha256_constants + i);
      sha256_rounds(abef, cdgh, b, sha256_constants + i + 4);
      sha256_rounds(abef, cdgh, c, sha256_constants + i + 8);
      sha256_rounds(abef, cdgh, d, sha256_constants + i + 12);
      if (i == 48) break;
      a = sha256_schedule(a, b, c, d);
      b = sha256_schedule(b, c, d, a);
      c = sha256_schedule(c, d, a, b);
      d = sha256_schedule(d, a, b, c);
    }
    abef = sha256_add(abef, old_abef);
    cdgh = sha256_add(cdgh, old_cdgh);
  }
  const auto word = [](int value) { return static_cast<std::uint32_t>(value); };
  state = {word(abef[3]), word(abef[2]), word(cdgh[3]), word(cdgh[2]),
           word(abef[1]), word(abef[0]), word(cdgh[1]), word(cdgh[0])};
}

/// Whether this processor has SSE4.1 and the SHA extensions.
inline bool has_sha256_instructions() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & bit_SSE4_1) == 0) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA) != 0;
}

#elif defined(TENON_DETAIL_SHA256_ARM)

inline void sha256_blocks_native(Sha256State& state, const std::byte* blocks,
                                 std::size_t count) noexcept {
  uint32x4_t abcd = vld1q_u32(state.data());
  uint32x4_t efgh = vld1q_u32(state.data() + 4);
  const auto load = [](const std::byte* from) {
    return vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(reinterpret_cast<const std::uint8_t*>(from))));
  };
  const auto rounds = [&](uint32x4_t words, const std::uint32_t* constants) {
    const uint32x4_t sums = vaddq_u32(words, vld1q_u32(constants));
    const uint32x4_t before = abcd;
    abcd = vsha256hq_u32(abcd, efgh, sums);
    efgh = vsha256h2q_u32(efgh, before, sums);
  };
  const auto schedule = [](uint32x4_t a, uint32x4_t b, uint32x4_t c, uint32x4_t d) {
    return vsha256su1q_u32(vsha256su0q_u32(a, b), c, d);
  };
  for (; count != 0; --count, blocks += 64) {
    const uint32x4_t old_abcd = abcd;
    const uint32x4_t old_efgh = efgh;
    uint32x4_t a = load(blocks);
    uint32x4_t b = load(blocks + 16);
    uint32x4_t c = load(blocks + 32);
    uint32x4_t d = load(blocks + 48);
    for (std::size_t i = 0;; i += 16) {
      rounds(a, sha256_constants + i);
      rounds(b, sha256_constants + i + 4);
      rounds(c, sha256_constants + i + 8);
      rounds(d, sha256_constants + i + 12);
      if (i == 48) break;
      a = schedule(a, b, c, d);
      b = schedule(b, c, d, a);
      c = schedule(c, d, a, b);
      d = schedule(d, a, b, c);
    }
    abcd = vaddq_u32(abcd, old_abcd);
    efgh = vaddq_u32(efgh, old_efgh);
  }
  vst1q_u32(state.data(), abcd);
  vst1q_u32(state.data() + 4, efgh);
}

/// Compiled for processors that have them.
inline bool has_sha256_instructions() noexcept { return true; }

#else

inline void sha256_blocks_native(Sha256State& state, const std::byte* blocks,
                                 std::size_t count) noexcept {
  sha256_blocks_portable(state, blocks, count);
}
inline bool has_sha256_instructions() noexcept { return false; }

#endif

inline void sha256_blocks(Sha256State& state, const std::byte* blocks, std::size_t count) noexcept {
  static const bool native = has_sha256_instructions();
  if (native) {
    sha256_blocks_native(state, blocks, count);
  } else {
    sha256_blocks_portable(state, blocks, count);
  }
}

}  // namespace detail

/// Hashes bytes that arrive in pieces: `update` for each piece, then `finish` once.
class Sha256Hasher {
 public:
  void update(Bytes bytes) noexcept {
    if (bytes.empty()) return;
    const std::byte* next = bytes.data();
    std::size_t left = bytes.size();
    const std::size_t used = static_cast<std::size_t>(size_ % 64);
    size_ += left;
    if (used != 0) {
      const std::size_t taken = left < 64 - used ? left : 64 - used;
      std::memcpy(block_ + used, next, taken);
      if (used + taken < 64) return;
      detail::sha256_blocks(state_, block_, 1);
      next += taken;
      left -= taken;
    }
    detail::sha256_blocks(state_, next, left / 64);
    std::memcpy(block_, next + left / 64 * 64, left % 64);
  }

  /// The hash of all pieces. Neither function may be called afterwards.
  [[nodiscard]] Sha256 finish() noexcept {
    const std::uint64_t bits = size_ * 8;
    std::size_t used = static_cast<std::size_t>(size_ % 64);
    block_[used++] = std::byte{0x80};
    if (used > 56) {
      std::memset(block_ + used, 0, 64 - used);
      detail::sha256_blocks(state_, block_, 1);
      used = 0;
    }
    std::memset(block_ + used, 0, 56 - used);
    for (std::size_t i = 0; i < 8; ++i)
      block_[56 + i] = static_cast<std::byte>(bits >> (56 - 8 * i));
    detail::sha256_blocks(state_, block_, 1);
    Sha256 out;
    for (std::size_t i = 0; i < out.bytes.size(); ++i) {
      out.bytes[i] = static_cast<std::uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
    }
    return out;
  }

 private:
  /// The first 32 bits of the fractional parts of the square roots of the first 8 primes.
  detail::Sha256State state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                             0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::byte block_[64];
  std::uint64_t size_ = 0;
};

[[nodiscard]] inline Sha256 sha256_of(Bytes bytes) noexcept {
  Sha256Hasher hasher;
  hasher.update(bytes);
  return hasher.finish();
}

/// The hash as 64 digits, lower case.
[[nodiscard]] inline std::string sha256_hex(Bytes bytes) { return sha256_of(bytes).to_hex(); }

}}  // namespace tenon::TENON_RELEASE
