// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/platform/file.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host { namespace detail {

/// The system's refusal of `at`, which is `asked` or on the way to it.
inline Status system_refusal(const std::filesystem::path& asked, std::string_view at, int number,
                             std::string_view wanted = "file") {
  const bool missing = number == ENOENT || number == ENOTDIR;
  const bool on_the_way = at != asked.native();
  if (missing) {
    return error(Error::NotFound, asked.native(), ": there is no ",
                 on_the_way ? at : concat("such ", wanted));
  }
  return error(Error::AccessFailed, asked.native(), ": ",
               on_the_way ? concat(at, ": ") : std::string(), std::strerror(number));
}

inline Status check_kind(const struct stat& status, const std::filesystem::path& asked) {
  if (S_ISREG(status.st_mode)) return ok();
  return error(Error::InvalidArgument, asked.native(), ": is ",
               platform::describe(platform::kind_of(status.st_mode)), ", expected a regular file");
}

}}}}  // namespace tenon::TENON_RELEASE::host::detail
