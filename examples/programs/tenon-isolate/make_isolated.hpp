// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/isolation/worker_settings.hpp"

namespace tenon::isolate {

/// The isolated plugin that is to be made.
struct Request {
  std::filesystem::path template_file;
  std::filesystem::path worker;  ///< Absolute; empty when there is none.
  std::filesystem::path plugin;
  std::filesystem::path out;
  bool force = false;
  host::WorkerSettings settings{};
};

/// The plugin that was made.
struct Made {
  std::filesystem::path out;
  std::string wrapped;  ///< As the plugin finds it.
  std::string sha256;
  std::vector<std::string> backends;
  host::WorkerSettings settings;  ///< As in `Request`.
};

/// The template of isolated plugins and the worker, in a build tree or an installation. errors:
/// NotFound, which names the paths; NotSupported on other systems than Linux.
[[nodiscard]] Result<std::filesystem::path> find_template();
[[nodiscard]] Result<std::filesystem::path> find_worker();

/// Makes an isolated plugin. errors: as `tool::make_from_template` and
/// `host::fill_isolated_object`.
[[nodiscard]] Result<Made> make_isolated(const Request& request);

}  // namespace tenon::isolate
