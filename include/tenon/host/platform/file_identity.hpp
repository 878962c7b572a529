// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Identifies a file and one state of its content. Two descriptors with equal identities show the
/// same content, unless the clock of the file system is too coarse to distinguish two writes.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

namespace platform {

/// The kinds of things that a path names.
enum class FileKind : std::uint8_t {
  regular,
  directory,
  fifo,
  socket,
  character_device,
  block_device,
  other,
};

/// "a regular file", "a directory" ...
[[nodiscard]] constexpr std::string_view describe(FileKind kind) noexcept {
  constexpr std::string_view texts[] = {"a regular file",    "a directory",        "a FIFO",
                                        "a socket",          "a character device", "a block device",
                                        "not a regular file"};
  return texts[static_cast<std::size_t>(kind)];
}

/// The facts of an open file.
struct FileStatus {
  FileKind kind = FileKind::other;
  FileIdentity identity;
};

}  // namespace platform
}}}  // namespace tenon::TENON_RELEASE::host
