// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>

#include "program_path.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/isolation/worker_isolation.hpp"
#include "tenon/host/platform/environment.hpp"
#include "tenon/host/platform/normal_path.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// The file `name` of those that isolate plugins, `what` in messages, of the build tree or the
/// prefix that this program is in. errors: NotFound, which names the paths; NotSupported on other
/// systems than Linux.
[[nodiscard]] inline Result<std::filesystem::path> find_isolated_file(std::string_view what,
                                                                      std::string_view name) {
#if defined(__linux__)
  namespace fs = std::filesystem;
  std::error_code failure;
  const fs::path directory = program_path().parent_path();
  const fs::path built = host::normal_path(directory / TENON_ISOLATED_BUILT / name);
  const fs::path installed = host::normal_path(directory / TENON_ISOLATED_DIRECTORY / name);
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

/// The program of workers for a program of Tenon: empty when the variable TENON_WORKER names it,
/// otherwise of its build tree or prefix, otherwise of tenon/host/isolation. A privileged process
/// uses the last alone, as links can give its file another directory.
[[nodiscard]] inline std::filesystem::path worker_program() {
  if (!host::environment_variable("TENON_WORKER").value_or("").empty()) return {};
  if (!host::is_privileged()) {
    auto found = find_isolated_file("the program of workers", "tenon-worker");
    if (found.ok()) return *std::move(found);
  }
  return host::installed_worker();
}

/// `host::environment_isolation` for a program of Tenon. Without the variable no worker is looked
/// for.
[[nodiscard]] inline std::shared_ptr<const host::PluginIsolation> tool_isolation() {
  const bool is_set = host::environment_variable("TENON_ISOLATE").has_value();
  return is_set ? host::environment_isolation(worker_program()) : nullptr;
}

}}  // namespace tenon::TENON_RELEASE
