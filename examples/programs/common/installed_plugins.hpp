// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

#include "program_path.hpp"
#include "tenon/host/platform/environment.hpp"
#include "tenon/host/platform/normal_path.hpp"
#include "tenon/host/platform/path_text.hpp"

#if !defined(TENON_PLUGINDIR) && __has_include("tenon/host/plugindir.hpp")
#include "tenon/host/plugindir.hpp"
#endif

namespace tenon { inline namespace TENON_RELEASE {

/// The directory of installed plugins for a program of Tenon. It is in the prefix that the program
/// is in, wherever the prefix was moved to; otherwise host/layers/discovery/discovery.hpp has it. A
/// privileged process uses the latter alone, as links can give its file another directory.
///
/// In a header of its own, so that a program whose `main` names another directory need not compile
/// a host for that.
[[nodiscard]] inline std::string installed_plugins() {
#ifdef TENON_PLUGINS_FROM_BIN
  namespace fs = std::filesystem;
  std::error_code failure;
  const fs::path program = program_path();
  if (!program.empty() && !host::is_privileged()) {
    const fs::path directory = host::normal_path(program.parent_path() / TENON_PLUGINS_FROM_BIN);
    if (fs::is_directory(directory, failure)) return host::path_text(directory);
  }
#endif
#ifdef TENON_PLUGINDIR
  return TENON_PLUGINDIR;
#else
  return {};
#endif
}

}}  // namespace tenon::TENON_RELEASE
