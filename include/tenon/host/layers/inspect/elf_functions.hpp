// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/loader/plugin/platform.hpp"

/// Names the functions of an ELF shared library by what it says of itself: its symbol table, and
/// where it was stripped, the symbols that it exports.
namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// A place in the code of a library.
struct FunctionPlace {
  std::string name;          ///< As in the file: mangled. At most `max_function_name` characters.
  std::uint64_t offset = 0;  ///< Bytes behind the start of the function.
};

inline constexpr std::size_t max_function_name = 256;

/// The addresses at which the segments of an ELF shared library for `machine` have the bytes at
/// `offsets` of its file; nothing for a byte that is not loaded.
///
/// threads: any. errors: InvalidArgument as `peek` has them, without the file's name.
[[nodiscard]] Result<std::vector<std::optional<std::uint64_t>>> addresses_at(
    std::span<const std::byte> file, std::span<const std::uint64_t> offsets,
    std::uint32_t machine = this_platform.machine);

/// The functions around some places of an ELF shared library for `machine`, which are `offsets` in
/// its file; nothing for a place without a known function. Any bytes may be given: the time is
/// bounded by a pass over the symbol tables.
///
/// threads: any. errors: InvalidArgument as `peek` has them, without the file's name.
[[nodiscard]] Result<std::vector<std::optional<FunctionPlace>>> functions_at(
    std::span<const std::byte> file, std::span<const std::uint64_t> offsets,
    std::uint32_t machine = this_platform.machine);

}}}  // namespace tenon::TENON_RELEASE::host
