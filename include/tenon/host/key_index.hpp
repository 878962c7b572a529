// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/quoted.hpp"

namespace tenon::host::detail {

/// Finds the place of a key in a list of distinct keys. The keys stay where they are: each call
/// gets `key_of(i)`, the key at place `i`. Few keys are compared one by one and need no memory,
/// many are found by hash. Immutable after `build`; any thread may read it.
class KeyIndex {
 public:
  /// Indexes `count` keys.
  ///
  /// errors: `code` when two keys are equal, or when so many share a hash that only a hostile
  ///         writer can have chosen them (look-up must not become linear). `list` names the list in
  ///         the text.
  template <class KeyOf>
  [[nodiscard]] static Result<KeyIndex> build(std::uint32_t count, const KeyOf& key_of, Error code,
                                              std::string_view list) {
    KeyIndex index;
    index.count_ = count;
    if (count <= few) {
      for (std::uint32_t i = 1; i < count; ++i) {
        for (std::uint32_t j = 0; j < i; ++j) {
          if (key_of(i) == key_of(j)) return duplicate(code, list, j, i, key_of(i));
        }
      }
      return index;
    }
    index.slots_.resize(std::bit_ceil(std::size_t{count} * 2));
    std::uint64_t probes = 0;
    const std::uint64_t most_probes = std::uint64_t{count} * 32 + 256;
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto key = key_of(i);
      const auto hash = hash_of(key);
      auto slot = index.first_slot(hash);
      for (; index.slots_[slot].place != 0; slot = index.next_slot(slot)) {
        const auto& other = index.slots_[slot];
        if (other.hash == check_of(hash) && key_of(other.place - 1) == key) {
          return duplicate(code, list, other.place - 1, i, key);
        }
        if (++probes > most_probes) {
          return error(code, list, ": the hashes of its ", count, " keys collide");
        }
      }
      index.slots_[slot] = {check_of(hash), i + 1};
    }
    return index;
  }

  /// The place of `key`, with the same `key_of` as at `build`.
  template <class KeyOf>
  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view key,
                                                  const KeyOf& key_of) const noexcept {
    if (slots_.empty()) {
      for (std::uint32_t i = 0; i < count_; ++i) {
        if (key_of(i) == key) return i;
      }
      return std::nullopt;
    }
    const auto hash = hash_of(key);
    for (auto slot = first_slot(hash); slots_[slot].place != 0; slot = next_slot(slot)) {
      const auto place = slots_[slot].place - 1;
      if (slots_[slot].hash == check_of(hash) && key_of(place) == key) return place;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::uint32_t size() const noexcept { return count_; }

 private:
  static constexpr std::uint32_t few = 8;

  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t place = 0;  ///< Plus one; 0 is free.
  };

  static std::uint64_t hash_of(std::string_view key) noexcept {
    return std::hash<std::string_view>{}(key);
  }
  static std::uint32_t check_of(std::uint64_t hash) noexcept {
    return static_cast<std::uint32_t>(hash >> 32);
  }
  [[nodiscard]] std::size_t first_slot(std::uint64_t hash) const noexcept {
    return static_cast<std::size_t>(hash) & (slots_.size() - 1);
  }
  [[nodiscard]] std::size_t next_slot(std::size_t slot) const noexcept {
    return (slot + 1) & (slots_.size() - 1);
  }

  static Status duplicate(Error code, std::string_view list, std::uint32_t first,
                          std::uint32_t second, std::string_view key) {
    return error(code, list, "[", second, "]: ", quoted(key), " is also ", list, "[", first, "]");
  }

  std::vector<Slot> slots_;  ///< A power of two, at most half full; empty for few keys.
  std::uint32_t count_ = 0;
};

}  // namespace tenon::host::detail
