// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/platform/opened_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "tenon/core/result.hpp"
#include "tenon/host/platform/file.hpp"
#include "tenon/host/platform/impl/posix/regular_file.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

Result<OpenedFile> open_named_file(const std::filesystem::path& path) {
  TENON_RETURN_IF_ERROR(check_absolute(path));
  FileDescriptor file(::open(path.c_str(), platform::read_flags));
  struct stat status{};
  if (!file.valid()) {
    const int number = errno;
    if (number == ENXIO && ::stat(path.c_str(), &status) == 0) {
      TENON_RETURN_IF_ERROR(detail::check_kind(status, path));
    }
    return detail::system_refusal(path, path.native(), number);
  }
  if (::fstat(file.get(), &status) != 0) return detail::system_refusal(path, path.native(), errno);
  TENON_RETURN_IF_ERROR(detail::check_kind(status, path));
  return OpenedFile{std::move(file), path, platform::identity_of(status), Trust::caller};
}

}}}  // namespace tenon::TENON_RELEASE::host
