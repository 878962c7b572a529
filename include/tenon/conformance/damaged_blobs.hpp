// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tenon/conformance/blob_trial.hpp"
#include "tenon/core/concat.hpp"

/// Blobs that are damaged, or were never good.
namespace tenon::conformance {

/// How many of them there are at a level.
struct DamageAmount {
  std::size_t prefixes;
  std::size_t flips;
  std::size_t garbage;
};
[[nodiscard]] constexpr DamageAmount damage_at(int level) noexcept {
  if (level >= 10) return {2000, 5000, 200};
  if (level >= 7) return {150, 400, 40};
  return {20, 40, 6};
}

namespace detail {

/// At most `count` numbers below `size`: the first ones, the last, and others by chance.
[[nodiscard]] inline std::vector<std::size_t> sample(std::size_t size, std::size_t count,
                                                     std::mt19937_64& random) {
  std::set<std::size_t> out;
  for (std::size_t i = 0; i < std::min(size, count / 2); ++i) out.insert(i);
  if (size != 0) out.insert(size - 1);
  for (std::size_t i = 0; i < count && out.size() < std::min(size, count); ++i) {
    out.insert(random() % size);
  }
  return {out.begin(), out.end()};
}

/// The same for bits of `size` bytes: each of the first bytes in two bits and as a whole, then
/// single bits by chance. A mask for each byte.
struct Flip {
  std::size_t at;
  std::byte mask;
};
[[nodiscard]] inline std::vector<Flip> sample_flips(std::size_t size, std::size_t count,
                                                    std::mt19937_64& random) {
  std::vector<Flip> out;
  for (std::size_t at = 0; at < size && out.size() + 3 <= count * 3 / 4; ++at) {
    for (const unsigned mask : {0x01U, 0x80U, 0xFFU}) out.push_back({at, std::byte(mask)});
  }
  while (size != 0 && out.size() < count) {
    out.push_back({random() % size, std::byte(1U << random() % 8)});
  }
  return out;
}

}  // namespace detail

/// Calls `use` with damaged versions of `good`, all of them by the numbers of `random`.
inline void for_damaged(std::span<const std::byte> good, const DamageAmount& amount,
                        std::mt19937_64& random, const std::function<void(const TrialBlob&)>& use) {
  for (const std::size_t size : detail::sample(good.size(), amount.prefixes, random)) {
    use({concat("its first ", size, " of ", good.size(), " bytes"), good.first(size)});
  }
  std::vector<std::byte> bytes(good.begin(), good.end());
  for (const detail::Flip& flip : detail::sample_flips(good.size(), amount.flips, random)) {
    bytes[flip.at] ^= flip.mask;
    use({concat("byte ", flip.at, " changed by ", std::to_integer<int>(flip.mask)), bytes});
    bytes[flip.at] ^= flip.mask;
  }
  bytes.insert(bytes.end(), 64, std::byte{0xFF});
  use({"64 bytes more at its end", bytes});
}

/// Calls `use` with blobs that are nobody's.
inline void for_garbage(const DamageAmount& amount, std::mt19937_64& random,
                        const std::function<void(const TrialBlob&)>& use) {
  use({"no bytes", {}});
  const std::vector<std::byte> zeros(4096);
  use({"a zero", {zeros.data(), 1}});
  use({"4096 zeros", zeros});
  const Zeros many(std::size_t{256} << 20);
  use({"256 MiB of zeros", many.bytes()});
  for (std::size_t i = 0; i < amount.garbage; ++i) {
    std::vector<std::byte> bytes(1 + random() % (std::size_t{1} << (1 + random() % 16)));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    use({concat(bytes.size(), " bytes by chance"), bytes});
  }
}

}  // namespace tenon::conformance
