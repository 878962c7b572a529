// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <span>
#include <string_view>

#include "tenon/core/result.hpp"
#include "tenon/host/platform/opened_file.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon::inline TENON_RELEASE::host::detail {

inline constexpr bool has_sealed_copies = false;

/// Never called.
inline Result<OpenedFile> sealed_copy(const OpenedFile& file, std::string_view) {
  return error(Error::NotSupported, path_text(file.path), ": this system has no sealed files");
}
inline Result<OpenedFile> same_copy(const OpenedFile& copy) { return sealed_copy(copy, {}); }
inline Result<OpenedFile> sealed_file(std::span<const std::byte>, const std::filesystem::path& path,
                                      Trust, std::string_view) {
  return error(Error::NotSupported, path_text(path), ": this system has no sealed files");
}

/// A state of the content of a file. No process can write to one that is open.
using FileState = FileIdentity;

/// errors: AccessFailed, with the path.
inline Result<FileState> state_of(const OpenedFile& file) {
  platform::FileStatus status;
  if (platform::get_status(file.descriptor.get(), status)) return status.identity;
  return error(Error::AccessFailed, path_text(file.path), ": ", std::strerror(errno));
}

}  // namespace tenon::inline TENON_RELEASE::host::detail
