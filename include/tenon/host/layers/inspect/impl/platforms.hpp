// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/inspect/platforms.hpp"

#include <cstdint>
#include <utility>

#include "tenon/abi/plugin.h"
#include "tenon/core/file_bytes.hpp"
#include "tenon/core/object/elf.hpp"
#include "tenon/core/object/format.hpp"
#include "tenon/core/object/mach_o.hpp"
#include "tenon/core/object/pe.hpp"
#include "tenon/core/object/pe_header.hpp"
#include "tenon/host/loader/impl/plugin/object.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// The bytes of the plugin's object in a file for `platform`. Failures do not name the file.
inline Result<std::span<const std::byte>> find_plugin_object(FileBytes file,
                                                             const Platform& platform) {
  if (format_of(file) != platform.format) {
    return error(Error::InvalidArgument, "is ", describe_content(file), ", expected ",
                 describe_library(platform));
  }
  switch (platform.format) {
    case BinaryFormat::mach_o:
      return tenon::detail::macho::find_object(file, platform.machine, TENON_PLUGIN_SYMBOL);
    case BinaryFormat::pe:
      return tenon::detail::pe::find_object(file, platform.machine, TENON_PLUGIN_SYMBOL);
    default:
      return tenon::detail::elf::find_object(file, platform.machine, TENON_PLUGIN_SYMBOL,
                                             platform.c_library);
  }
}

/// Bytes of a pointer in the shared libraries of a platform.
constexpr std::size_t pointer_size_of(const Platform& platform) {
  namespace elf = tenon::detail::elf;
  if (platform.format == BinaryFormat::elf) {
    return static_cast<std::size_t>(elf::class_of_machine(platform.machine).word_size());
  }
  const bool is_narrow =
      platform.format == BinaryFormat::pe && platform.machine == tenon::detail::pe::machine_i386;
  return is_narrow ? 4 : 8;
}

}  // namespace detail

std::string describe_library(const Platform& platform) {
  switch (platform.format) {
    case BinaryFormat::mach_o:
      return tenon::detail::macho::describe_library(platform.machine);
    case BinaryFormat::pe:
      return tenon::detail::pe::describe_library(platform.machine);
    default:
      return tenon::detail::elf::describe_library(platform.machine);
  }
}

std::optional<Platform> platform_of(std::span<const std::byte> bytes) {
  const FileBytes file(bytes);
  const auto format = format_of(file);
  if (!format) return std::nullopt;
  if (*format == BinaryFormat::pe) {
    return Platform{*format, tenon::detail::pe::Headers::of(file).machine()};
  }
  if (*format == BinaryFormat::elf) {
    const std::uint32_t machine = file.u16(18);
    const auto width = tenon::detail::elf::class_of_machine(machine).word_size() / 4;
    if (file.u8(4) != width || file.u8(5) != 1) return std::nullopt;
    return Platform{*format, machine};
  }
  if (file.u32(0) == tenon::detail::macho::thin_magic) return Platform{*format, file.u32(4)};
  if (this_platform.format == *format) return this_platform;
  return Platform{*format, file.big_endian<std::uint32_t>(8)};
}

Result<PluginRecord> peek(std::span<const std::byte> file, std::string_view name,
                          const Platform& platform) {
  auto object = detail::find_plugin_object(FileBytes(file), platform);
  if (!object.ok()) return std::move(object).status().with_context(name);
  return read_record(*object, name, detail::pointer_size_of(platform));
}

}}}  // namespace tenon::TENON_RELEASE::host
