// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tenon/core/api.hpp"
#include "tenon/core/result.hpp"

namespace tenon::host::detail {

/// A list of keys that is stored elsewhere: any callable that returns the key at an index. Refers
/// to it; for arguments.
class KeyList {
 public:
  template <class KeyOf>
  KeyList(const KeyOf& key_of) noexcept
      : list_(&key_of), key_of_([](const void* list, std::uint32_t index) -> std::string_view {
          return (*static_cast<const KeyOf*>(list))(index);
        }) {}

  [[nodiscard]] std::string_view operator[](std::uint32_t index) const {
    return key_of_(list_, index);
  }

 private:
  const void* list_;
  std::string_view (*key_of_)(const void* list, std::uint32_t index);
};

/// Finds the index of a key in a list of distinct keys. It holds no keys: each call gets the list
/// again. Few keys are compared one by one and need no memory, many are found by hash. Immutable
/// after `build`; any thread may read it.
class KeyIndex {
 public:
  /// Indexes the first `count` of `keys`.
  ///
  /// errors: `code` when two keys are equal, or when so many share a hash that only a hostile
  ///         writer can have chosen them (look-up must not become linear). `list` names the list in
  ///         the text.
  [[nodiscard]] static Result<KeyIndex> build(std::uint32_t count, KeyList keys, Error code,
                                              std::string_view list);

  /// The index of `key` in the same list as at `build`.
  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view key,
                                                  KeyList keys) const noexcept;

  [[nodiscard]] std::uint32_t size() const noexcept { return count_; }

 private:
  static constexpr std::uint32_t few = 8;

  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t place = 0;  ///< Plus one; 0 is free.
  };

  static std::uint32_t check_of(std::uint64_t hash) noexcept {
    return static_cast<std::uint32_t>(hash >> 32);
  }
  [[nodiscard]] std::size_t first_slot(std::uint64_t hash) const noexcept {
    return static_cast<std::size_t>(hash) & (slots_.size() - 1);
  }
  [[nodiscard]] std::size_t next_slot(std::size_t slot) const noexcept {
    return (slot + 1) & (slots_.size() - 1);
  }

  std::vector<Slot> slots_;  ///< A power of two, at most half full; empty for few keys.
  std::uint32_t count_ = 0;
};

/// Results of the checks of a program that loading uses: indexes of what is found by name.
struct ProgramNames {
  KeyIndex methods;
  KeyIndex named_data;
  bool has_devices = false;  ///< A tensor or a planned buffer names a device that is not the CPU.
};

}  // namespace tenon::host::detail

#if TENON_HOST_DEFINITIONS

#include <bit>

#include "tenon/host/files/quoted.hpp"

namespace tenon::host::detail {

[[nodiscard]] inline std::uint64_t hash_of_key(std::string_view key) noexcept {
  return std::hash<std::string_view>{}(key);
}

[[nodiscard]] inline Status duplicate_key(Error code, std::string_view list, std::uint32_t first,
                                          std::uint32_t second, std::string_view key) {
  return error(code, list, "[", second, "]: ", quoted(key), " is also ", list, "[", first, "]");
}

TENON_COLD TENON_API Result<KeyIndex> KeyIndex::build(std::uint32_t count, KeyList keys, Error code,
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

TENON_API std::optional<std::uint32_t> KeyIndex::find(std::string_view key,
                                                      KeyList keys) const noexcept {
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

}  // namespace tenon::host::detail

#endif  // TENON_HOST_DEFINITIONS
