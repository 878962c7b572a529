// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>

#include "tenon/core/result.hpp"
#include "tenon/host/platform/file_descriptor.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// All bytes of a small file, which need not be a regular file (`/dev/stdin`). A program is mapped
/// instead (MappedFile). AccessFailed, with the path, when it cannot be opened or a read fails;
/// InvalidArgument when it has more than `max_size` bytes, of which no more are read.
[[nodiscard]] inline Result<std::string> read_file(const std::filesystem::path& path,
                                                   std::uint64_t max_size = UINT64_MAX) {
  const auto failed = [&] {
    return error(Error::AccessFailed, path_text(path), ": cannot be read: ", std::strerror(errno));
  };
  const FileDescriptor file(platform::open_stream(path));
  if (!file.valid()) return failed();
  constexpr std::size_t piece = 16384;
  std::string out;
  for (std::size_t size = 0;;) {
    out.resize(size + piece);
    const std::ptrdiff_t more = platform::read(file.get(), out.data() + size, piece);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return failed();
    size += static_cast<std::size_t>(more);
    if (size > max_size) {
      return error(Error::InvalidArgument, path_text(path), ": has more than ", max_size,
                   " bytes, the limit");
    }
    if (more != 0) continue;
    out.resize(size);
    return out;
  }
}

}}}  // namespace tenon::TENON_RELEASE::host
