// SPDX-License-Identifier: MIT
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "tenon/core/result.hpp"

namespace tenon::conformance {

/// A directory for files of tests, removed on destruction.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make() {
    std::error_code failed;
    std::string name = (std::filesystem::temp_directory_path(failed) / "tenon-XXXXXX").native();
    if (failed || !::mkdtemp(name.data())) {
      return error(Error::AccessFailed, "no directory for files of tests: ", name);
    }
    return TemporaryFolder(std::move(name));
  }
  /// One at `path`, which need not exist.
  static Result<TemporaryFolder> at(std::filesystem::path path) {
    std::error_code failed;
    std::filesystem::create_directories(path, failed);
    if (!failed) return TemporaryFolder(std::move(path));
    return error(Error::AccessFailed, "no directory for a test: ", path.native(), ": ",
                 failed.message());
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    // An empty one is removed without a look into it, which takes memory and a descriptor.
    if (!path_.empty() && !std::filesystem::remove(path_, ignored)) {
      std::filesystem::remove_all(path_, ignored);
    }
  }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  explicit TemporaryFolder(std::filesystem::path path) noexcept : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace tenon::conformance
