// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <initializer_list>

#include "tenon/core/api.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/core/result.hpp"
#if defined(_WIN32)
#include "tenon/host/platform/windows/new_file.hpp"
#else
#include "tenon/host/platform/posix/new_file.hpp"
#endif

namespace tenon::host {

/// Writes `parts`, one after the other, as the file `path` (NewFile).
[[nodiscard]] TENON_API Status write_file(const std::filesystem::path& path,
                                          std::initializer_list<Bytes> parts);

}  // namespace tenon::host

#if TENON_HOST_DEFINITIONS

namespace tenon::host {

TENON_API Status write_file(const std::filesystem::path& path, std::initializer_list<Bytes> parts) {
  TENON_TRY(NewFile file, NewFile::create(path));
  for (const Bytes part : parts) TENON_RETURN_IF_ERROR(file.write(part));
  return file.commit();
}

}  // namespace tenon::host

#endif  // TENON_HOST_DEFINITIONS
