// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/loader/plugin/peek.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/core/file_bytes.hpp"
#include "tenon/host/layers/inspect/impl/macho.hpp"
#include "tenon/host/layers/inspect/impl/pe.hpp"
#include "tenon/host/loader/impl/plugin/elf_platform.hpp"
#include "tenon/host/loader/impl/plugin/find_object.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

[[gnu::cold]] std::string describe_library(const Platform& platform) {
  return concat(article_of(platform.format), library_kind(platform));
}

/// Bytes of a pointer in the shared libraries of a platform.
constexpr std::size_t pointer_size_of(const Platform& platform) {
  if (platform.format == BinaryFormat::elf) {
    return static_cast<std::size_t>(elf::class_of_machine(platform.machine).word_size());
  }
  return platform.format == BinaryFormat::pe && platform.machine == pe::machine_i386 ? 4 : 8;
}

/// Describes what a path names instead of a regular file.
[[gnu::cold]] inline std::string_view describe_file_type(std::filesystem::file_type type) {
  using std::filesystem::file_type;
  switch (type) {
    case file_type::directory:
      return "a directory";
    case file_type::fifo:
      return "a FIFO";
    case file_type::socket:
      return "a socket";
    case file_type::character:
      return "a character device";
    case file_type::block:
      return "a block device";
    default:
      return "not a regular file";
  }
}

/// Why `path` could not be mapped, when the path itself shows it; otherwise `failure`.
[[gnu::cold]] inline Status explain_unmapped(const std::filesystem::path& path, Status failure) {
  std::error_code system_error;
  const auto status = std::filesystem::status(path, system_error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return error(Error::NotFound, path_text(path), ": there is no such file");
  }
  if (!std::filesystem::status_known(status)) return failure;
  const bool regular = std::filesystem::is_regular_file(status);
  if (regular && std::filesystem::file_size(path, system_error) != 0) return failure;
  return error(Error::InvalidArgument, path_text(path), ": is ",
               regular ? "empty" : describe_file_type(status.type()), ", expected ",
               describe_library(this_platform));
}

}  // namespace detail

std::optional<Platform> platform_of(std::span<const std::byte> bytes) {
  const FileBytes file(bytes);
  const auto format = detail::format_of(file);
  if (!format) return std::nullopt;
  if (*format == BinaryFormat::pe) {
    return Platform{*format, detail::pe::Headers::of(file).machine()};
  }
  if (*format == BinaryFormat::elf) {
    const std::uint32_t machine = file.u16(18);
    const auto width = detail::elf::class_of_machine(machine).word_size() / 4;
    if (file.u8(4) != width || file.u8(5) != 1) return std::nullopt;
    return Platform{*format, machine};
  }
  if (file.u32(0) == detail::macho::thin_magic) return Platform{*format, file.u32(4)};
  if (this_platform.format == *format) return this_platform;
  return Platform{*format, file.big_endian<std::uint32_t>(8)};
}

Result<PluginRecord> peek(std::span<const std::byte> file, std::string_view name,
                          const Platform& platform) {
  auto object = detail::find_plugin_object(FileBytes(file), platform);
  if (!object.ok()) return std::move(object).status().with_context(name);
  return read_record(*object, name, detail::pointer_size_of(platform));
}

Result<PluginRecord> peek(std::span<const std::byte> file, std::string_view name) {
  return peek(file, name, this_platform);
}

Result<PluginRecord> peek(const std::filesystem::path& path) {
  TENON_RETURN_IF_ERROR(check_no_nul(path));
  auto file = MappedFile::open(path);
  if (!file.ok()) return detail::explain_unmapped(path, std::move(file).status());
  return peek(file->bytes(), path_text(path));
}

Result<PluginRecord> peek(const OpenedFile& file) {
  return with_bytes(
      file, [&](std::span<const std::byte> bytes) { return peek(bytes, path_text(file.path)); });
}

}}}  // namespace tenon::TENON_RELEASE::host
