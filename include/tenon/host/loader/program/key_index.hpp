// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

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

}}}  // namespace tenon::TENON_RELEASE::host::detail
