// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/loader/program/key_index.hpp"

#include <bit>

#include "tenon/host/loader/files/quoted.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

[[nodiscard]] inline std::uint64_t hash_of_key(std::string_view key) noexcept {
  return std::hash<std::string_view>{}(key);
}

[[nodiscard]] inline Status duplicate_key(Error code, std::string_view list, std::uint32_t first,
                                          std::uint32_t second, std::string_view key) {
  return error(code, list, "[", second, "]: ", quoted(key), " is also ", list, "[", first, "]");
}

Result<KeyIndex> KeyIndex::build(std::uint32_t count, KeyList keys, Error code,
                                 std::string_view list) {
  KeyIndex index;
  index.count_ = count;
  if (count <= few) {
    for (std::uint32_t i = 1; i < count; ++i) {
      for (std::uint32_t j = 0; j < i; ++j) {
        if (keys[i] == keys[j]) return duplicate_key(code, list, j, i, keys[i]);
      }
    }
    return index;
  }
  index.slots_.resize(std::bit_ceil(std::size_t{count} * 2));
  std::uint64_t probes = 0;
  const std::uint64_t max_probes = std::uint64_t{count} * 32 + 256;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto key = keys[i];
    const auto hash = hash_of_key(key);
    auto slot = index.first_slot(hash);
    for (; index.slots_[slot].place != 0; slot = index.next_slot(slot)) {
      const auto& other = index.slots_[slot];
      if (other.hash == check_of(hash) && keys[other.place - 1] == key) {
        return duplicate_key(code, list, other.place - 1, i, key);
      }
      if (++probes > max_probes) {
        return error(code, list, ": the hashes of its ", count, " keys collide");
      }
    }
    index.slots_[slot] = {check_of(hash), i + 1};
  }
  return index;
}

std::optional<std::uint32_t> KeyIndex::find(std::string_view key, KeyList keys) const noexcept {
  if (slots_.empty()) {
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (keys[i] == key) return i;
    }
    return std::nullopt;
  }
  const auto hash = hash_of_key(key);
  for (auto slot = first_slot(hash); slots_[slot].place != 0; slot = next_slot(slot)) {
    const auto place = slots_[slot].place - 1;
    if (slots_[slot].hash == check_of(hash) && keys[place] == key) return place;
  }
  return std::nullopt;
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
