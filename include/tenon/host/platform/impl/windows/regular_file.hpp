// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/platform/file.hpp"
#include "tenon/host/platform/opened_file.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host { namespace platform {

/// The regular file behind `handle`.
inline Result<OpenedFile> take_file(Handle handle, const std::filesystem::path& path, Trust trust) {
  FileStatus status;
  if (!get_status(handle.get(), status)) {
    return error(Error::AccessFailed, path_text(path), ": ", std::strerror(errno));
  }
  if (status.kind != FileKind::regular) {
    return error(Error::InvalidArgument, path_text(path), ": is ", describe(status.kind),
                 ", expected a regular file");
  }
  FileDescriptor descriptor(descriptor_of(std::move(handle)));
  if (!descriptor.valid()) {
    return error(Error::AccessFailed, path_text(path), ": ", std::strerror(errno));
  }
  return OpenedFile{std::move(descriptor), path, status.identity, trust};
}

/// The system's refusal of `at`, which is `asked` or on the way to it.
[[nodiscard]] inline Status system_refusal(const std::filesystem::path& asked,
                                           const std::filesystem::path& at, int number) {
  const bool on_the_way = at != asked;
  if (number == ENOENT || number == ENOTDIR) {
    return error(Error::NotFound, path_text(asked), ": there is no ",
                 on_the_way ? path_text(at) : std::string("such file"));
  }
  return error(Error::AccessFailed, path_text(asked), ": ",
               on_the_way ? concat(path_text(at), ": ") : std::string(), std::strerror(number));
}

}}}}  // namespace tenon::TENON_RELEASE::host::platform
