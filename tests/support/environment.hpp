// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace test {

using Variables = std::map<std::string, std::string>;

/// While it lives, the environment has `variables` and no other that begins with TENON_, but for
/// the tests' own (TENON_TEST_...).
class ScopedEnvironment {
 public:
  explicit ScopedEnvironment(const Variables& variables) {
    for (char** each = environ; *each != nullptr; ++each) {
      const std::string_view text = *each;
      const std::string name(text.substr(0, text.find('=')));
      if (name.starts_with("TENON_") && !name.starts_with("TENON_TEST_"))
        before_.emplace(name, text.substr(name.size() + 1));
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
  std::vector<std::string> names_;
};

}  // namespace test
