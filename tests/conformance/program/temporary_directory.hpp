// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "kit/platform/make_temporary_directory.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// A directory for files of tests, removed on destruction.
class TemporaryDirectory {
 public:
  static Result<TemporaryDirectory> make() {
    TENON_TRY(std::filesystem::path path, platform::make_temporary_directory());
    return TemporaryDirectory(std::move(path));
  }
  /// One at `path`, which need not exist.
  static Result<TemporaryDirectory> at(std::filesystem::path path) {
    std::error_code failed;
    std::filesystem::create_directories(path, failed);
    if (!failed) return TemporaryDirectory(std::move(path));
    return error(Error::AccessFailed, "no directory for a test: ", host::path_text(path), ": ",
                 failed.message());
  }
  TemporaryDirectory(TemporaryDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    // An empty one is removed without a look into it, which takes memory and a descriptor.
    if (!path_.empty() && !std::filesystem::remove(path_, ignored)) {
      std::filesystem::remove_all(path_, ignored);
    }
  }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  explicit TemporaryDirectory(std::filesystem::path path) noexcept : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}}}  // namespace tenon::TENON_RELEASE::conformance
