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

#include "unit/tenon_run/process.hpp"

namespace test {

using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

/// While it lives, the environment has `variables` and of those that begin with TENON_ no other.
class ScopedEnvironment {
 public:
  explicit ScopedEnvironment(const Variables& variables) {
    for (char** each = environ; *each != nullptr; ++each) {
      const std::string_view text = *each;
      const std::string name(text.substr(0, text.find('=')));
      if (name.starts_with("TENON_")) before_.emplace(name, text.substr(name.size() + 1));
    }
    for (const auto& [name, value] : before_) ::unsetenv(name.c_str());
    for (const auto& [name, value] : variables) {
      names_.push_back(name);
      ::setenv(name.c_str(), value.c_str(), 1);
    }
  }
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;
  ~ScopedEnvironment() {
    for (const std::string& name : names_) ::unsetenv(name.c_str());
    for (const auto& [name, value] : before_) ::setenv(name.c_str(), value.c_str(), 1);
  }

 private:
  Variables before_;
  Words names_;
};

/// Runs tenon-list, which knows no installed plugins, with these variables that begin with TENON_.
[[nodiscard]] inline Outcome run_list(Words arguments, const Variables& variables = {},
                                      const std::string& out_path = {}) {
  const ScopedEnvironment environment(variables);
  return run_program(TENON_LIST, std::move(arguments), out_path);
}

/// Copies a plugin of the zoo to `folder`, where nobody else can write: build folders need not be
/// like that.
inline std::string add_plugin(const std::filesystem::path& folder, const std::string& zoo,
                              const std::string& name = {}) {
  const auto path = folder / (name.empty() ? zoo + ".so" : name);
  std::filesystem::copy_file(std::filesystem::path(TENON_ZOO) / (zoo + ".so"), path);
  std::filesystem::permissions(path, std::filesystem::perms(0644));
  return path.string();
}

[[nodiscard]] inline std::filesystem::path make_folder(const std::filesystem::path& path) {
  std::filesystem::create_directory(path);
  std::filesystem::permissions(path, std::filesystem::perms(0755));
  return path;
}

}  // namespace test
