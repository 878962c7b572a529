// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/isolation/isolated_object.hpp"

#include <algorithm>
#include <string>

#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

template <std::size_t Size>
Status put_path(std::string_view path, char (&to)[Size]) {
  if (path.size() >= Size) {
    return error(Error::InvalidArgument, path, ": the path has ", path.size(),
                 " bytes, expected at most ", Size - 1);
  }
  path.copy(to, Size - 1);
  return ok();
}

/// The permissions as the object has them, a line each.
inline Result<std::string> permission_lines(const WorkerSettings& settings) {
  std::string lines;
  for (const std::string& each : settings.permissions) {
    const auto begins = [&](std::string_view kind) { return each.starts_with(kind); };
    const bool is_read = begins(read_permission);
    if (!is_read && !begins(write_permission) && !begins(device_permission) &&
        !begins(program_permission)) {
      return error(Error::InvalidArgument, quoted(each),
                   ": expected read=, write=, device= or program= and a path");
    }
    if (settings.profile == WorkerProfile::none) {
      return error(Error::InvalidArgument, each,
                   ": without a profile nothing is refused, so that nothing can be permitted");
    }
    if (!is_read && settings.profile != WorkerProfile::driver) {
      return error(Error::InvalidArgument, each, ": the profile ",
                   worker_profile_name(settings.profile),
                   " has no such permission, only read; driver has");
    }
    if (!path_of(each.substr(each.find('=') + 1)).is_absolute() ||
        each.find('\n') != std::string::npos) {
      return error(Error::InvalidArgument, quoted(each),
                   ": expected an absolute path without a line feed");
    }
    lines += each + "\n";
  }
  if (lines.size() >= sizeof IsolatedObject::permissions) {
    return error(Error::InvalidArgument, "the permissions have ", lines.size(),
                 " bytes, expected at most ", sizeof IsolatedObject::permissions - 1);
  }
  return lines;
}

}  // namespace detail

Status fill_isolated_object(IsolatedObject& object, std::string_view wrapped, const Sha256& sha256,
                            const std::filesystem::path& worker, const WorkerSettings& settings) {
  TENON_RETURN_IF_ERROR(detail::put_path(wrapped, object.wrapped_path));
  TENON_RETURN_IF_ERROR(detail::put_path(path_text(worker), object.worker_path));
  TENON_TRY(const std::string lines, detail::permission_lines(settings));
  lines.copy(object.permissions, sizeof object.permissions - 1);
  std::copy(sha256.bytes.begin(), sha256.bytes.end(), object.sha256);
  object.settings.sharing =
      static_cast<std::uint32_t>(settings.own_worker ? Sharing::delegate : Sharing::backend);
  object.settings.restart = settings.restart;
  object.settings.deadline_ms = settings.deadline_ms;
  object.settings.memory = static_cast<std::uint32_t>(settings.share_memory ? WorkerMemory::shared
                                                                            : WorkerMemory::copied);
  object.settings.restriction = static_cast<std::uint32_t>(settings.profile);
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::host
