// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "tenon/core/extensions.hpp"

/// The parts of the answer to `load`, one bit each: the extensions that the plugin has, in the
/// order of their ids, and some of their functions.
namespace tenon::isolated {

static_assert(backend_extensions.size() <= 28, "the bits of functions come after the tables' bits");

/// A number that differs between two lists of ids, but for a chance of 1 in 65,536.
[[nodiscard]] constexpr std::uint16_t number_of_list(std::span<const char* const> ids) noexcept {
  std::uint32_t out = 0;  // FNV-1a of the ids and their ends.
  for (const std::string_view id : ids) {
    for (const char c : id) out = (out ^ static_cast<unsigned char>(c)) * 16777619U;
    out = (out ^ 0xFFU) * 16777619U;
  }
  return static_cast<std::uint16_t>(out ^ out >> 16);
}

/// The bit of the extension with this table.
template <class Table>
inline constexpr std::uint32_t extension_bit =
    1u << (std::ranges::find(backend_extensions, std::string_view(BackendExtension<Table>::id)) -
           backend_extensions.begin());

/// The bit of a function that an isolated plugin has exactly when its plugin has it; 0 for others.
template <auto Member>
inline constexpr std::uint32_t function_bit = 0;
template <>
inline constexpr std::uint32_t function_bit<&tenon_device_memory_v1::copy_on> = 1u << 28;
template <>
inline constexpr std::uint32_t function_bit<&tenon_estimate_v1::free_memory> = 1u << 29;
template <>
inline constexpr std::uint32_t function_bit<&tenon_scheduling_v1::set_scheduling> = 1u << 30;
template <>
inline constexpr std::uint32_t function_bit<&tenon_sequence_v1::written> = 1u << 31;

/// The bits for a plugin's table, complete; 0 when a function is missing that must be there.
template <class Table>
[[nodiscard]] std::uint32_t bits_of_table(const Table& table) noexcept {
  return [&]<class... Functions>(TypeList<Functions...>) {
    const bool is_whole = ((Functions::may_be_null || table.*Functions::member) && ...);
    const std::uint32_t functions =
        (0u | ... | (table.*Functions::member ? function_bit<Functions::member> : 0u));
    return is_whole ? extension_bit<Table> | functions : 0u;
  }(typename BackendExtension<Table>::Functions());
}

}  // namespace tenon::isolated
