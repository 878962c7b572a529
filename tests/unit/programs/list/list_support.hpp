// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/environment.hpp"
#include "unit/programs/run/process.hpp"

namespace test {

using Words = std::vector<std::string>;
/// Runs tenon-list, which knows no installed plugins, with these variables that begin with TENON_.
[[nodiscard]] inline Outcome run_list(Words arguments, const Variables& variables = {},
                                      const std::string& out_path = {}) {
  const ScopedEnvironment environment(variables);
  return run_program(TENON_LIST, std::move(arguments), out_path);
}

/// Copies a plugin of the zoo to `directory`, where no other user can write: build directories need
/// not be like that.
inline std::string add_plugin(const std::filesystem::path& directory, const std::string& zoo,
                              const std::string& name = {}) {
  const auto path = directory / (name.empty() ? zoo + ".so" : name);
  std::filesystem::copy_file(std::filesystem::path(TENON_ZOO) / (zoo + ".so"), path);
  std::filesystem::permissions(path, std::filesystem::perms(0644));
  return path.string();
}

[[nodiscard]] inline std::filesystem::path make_directory(const std::filesystem::path& path) {
  std::filesystem::create_directory(path);
  std::filesystem::permissions(path, std::filesystem::perms(0755));
  return path;
}

}  // namespace test
