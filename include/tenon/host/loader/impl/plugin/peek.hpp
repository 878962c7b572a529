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
#include "tenon/host/loader/impl/plugin/object.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

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
               describe_expected());
}

}  // namespace detail

Result<PluginRecord> peek(std::span<const std::byte> file, std::string_view name) {
  auto object = detail::find_plugin_object(FileBytes(file));
  if (!object.ok()) return std::move(object).status().with_context(name);
  return read_record(*object, name);
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
