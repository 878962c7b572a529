// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "tenon/core/result.hpp"

namespace tenon::run {

/// Isolated plugins of plugins that were named, for this run: files in a directory of their own,
/// which is removed at the end.
class IsolatedCopies {
 public:
  IsolatedCopies() = default;
  IsolatedCopies(const IsolatedCopies&) = delete;
  IsolatedCopies& operator=(const IsolatedCopies&) = delete;
  ~IsolatedCopies();

  /// A plugin that runs the one at `plugin` in a worker with a profile. errors: those of
  /// `isolate::make_isolated`; NotSupported on other systems than Linux; AccessFailed when there is
  /// no temporary directory.
  [[nodiscard]] Result<std::filesystem::path> make(const std::filesystem::path& plugin,
                                                   const std::string& profile);

 private:
  [[nodiscard]] Status make_directory();

  std::filesystem::path directory_;  ///< Empty before the first.
  std::size_t count_ = 0;
};

}  // namespace tenon::run
