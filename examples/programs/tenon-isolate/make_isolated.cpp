// SPDX-License-Identifier: MIT
#include "make_isolated.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

#include "boundary/restriction.hpp"
#include "isolated_object.hpp"
#include "program_path.hpp"
#include "template_plugin.hpp"
#include "tenon/core/sha256.hpp"
#include "tenon/host/files/quoted.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon::isolate {

namespace fs = std::filesystem;
using isolated::IsolatedObject;

namespace {

Result<fs::path> find(std::string_view what, std::string_view name) {
#if defined(__linux__)
  std::error_code failure;
  const fs::path directory = program_path().parent_path();
  const fs::path built = (directory / TENON_ISOLATED_BUILT / name).lexically_normal();
  const fs::path installed = (directory / TENON_ISOLATED_DIRECTORY / name).lexically_normal();
  for (const fs::path& path : {built, installed}) {
    if (fs::is_regular_file(path, failure)) return path;
  }
  return error(Error::NotFound, what, " is neither at ", host::path_text(built), " nor at ",
               host::path_text(installed));
#else
  return error(Error::NotSupported, what, " (", name,
               ") exists for Linux alone: workers need memfd, futex and pidfd");
#endif
}

Status put_restriction(const Request& request, IsolatedObject& object) {
  const auto* const named = std::ranges::find(isolated::restriction_names, request.profile);
  if (named == std::end(isolated::restriction_names)) {
    return error(Error::InvalidArgument, "the profile ", host::quoted(request.profile),
                 " is unknown, expected none, open, driver or strict");
  }
  object.settings.restriction =
      static_cast<std::uint32_t>(named - std::begin(isolated::restriction_names));
  if (request.profile == "none" && !request.permissions.empty()) {
    return error(Error::InvalidArgument, request.permissions.front(),
                 ": without a profile nothing is refused, so that nothing can be permitted");
  }
  std::string lines;
  for (const std::string& each : request.permissions) {
    const std::size_t path = each.find('=') + 1;
    const bool is_driver = !each.starts_with(isolated::read_permission);
    if (is_driver && request.profile != "driver") {
      return error(Error::InvalidArgument, each, ": the profile ", request.profile,
                   " has no such permission, only read; driver has");
    }
    if (!host::path_of(each.substr(path)).is_absolute() || each.find('\n') != std::string::npos) {
      return error(Error::InvalidArgument, host::quoted(each),
                   ": expected an absolute path without a line feed");
    }
    lines += each + "\n";
  }
  if (lines.size() >= sizeof object.permissions) {
    return error(Error::InvalidArgument, "the permissions have ", lines.size(),
                 " bytes, expected at most ", sizeof object.permissions - 1);
  }
  lines.copy(object.permissions, sizeof object.permissions - 1);
  return ok();
}

}  // namespace

Result<fs::path> find_template() {
  return find("the template of isolated plugins", "tenon-isolated.so");
}

Result<fs::path> find_worker() { return find("the program of workers", "tenon-worker"); }

Result<Made> make_isolated(const Request& request) {
  constexpr tool::TemplateNames names{"isolated plugin",
                                      "an isolated plugin",
                                      "isolated plugins",
                                      {isolated::isolated_mark, sizeof isolated::isolated_mark}};
  Made made;
  made.out = request.out;
  made.profile = request.profile;
  made.permissions = request.permissions;
  const auto fill = [&](IsolatedObject& object, const tool::WrappedFile& wrapped) -> Status {
    std::error_code failure;
    const fs::path directory =
        fs::canonical(fs::absolute(request.out, failure).parent_path(), failure);
    // A plugin next to the isolated one may be moved with it.
    const bool is_beside = !failure && directory == wrapped.absolute.parent_path();
    made.wrapped = host::path_text(is_beside ? wrapped.absolute.filename() : wrapped.absolute);
    made.wrapped.copy(object.wrapped_path, sizeof object.wrapped_path - 1);
    const std::string worker = host::path_text(request.worker);
    if (worker.size() >= sizeof object.worker_path) {
      return error(Error::InvalidArgument, worker, ": the path is too long");
    }
    worker.copy(object.worker_path, sizeof object.worker_path - 1);
    const Sha256 hash = sha256_of(wrapped.bytes);
    std::copy(hash.bytes.begin(), hash.bytes.end(), object.sha256);
    made.sha256 = hash.to_hex();
    object.settings.sharing = static_cast<std::uint32_t>(
        request.own_worker ? isolated::Sharing::delegate : isolated::Sharing::backend);
    object.settings.restart = request.restart;
    object.settings.deadline_ms = request.deadline_ms;
    TENON_RETURN_IF_ERROR(put_restriction(request, object));
    for (std::size_t i = 0; i < object.head.num_backends; ++i) {
      made.backends.emplace_back(object.records[i].id);
    }
    return ok();
  };
  TENON_RETURN_IF_ERROR(tool::make_from_template<IsolatedObject>(
      names, request.template_file, request.plugin, request.out, request.force, fill));
  return made;
}

}  // namespace tenon::isolate
