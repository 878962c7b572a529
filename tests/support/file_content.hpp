// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <fstream>
#include <ios>
#include <string>
#include <system_error>

namespace tenon::test {

/// The content of a regular file; empty when it cannot be read. In one read: a character at a time
/// takes most of the time of a test that is not optimised.
[[nodiscard]] inline std::string file_content(const std::filesystem::path& path) {
  std::error_code failed;
  const auto size = std::filesystem::file_size(path, failed);
  std::ifstream file(path, std::ios::binary);
  if (failed || !file) return {};
  std::string out(static_cast<std::size_t>(size), '\0');
  file.read(out.data(), static_cast<std::streamsize>(size));
  out.resize(static_cast<std::size_t>(file.gcount()));
  return out;
}

}  // namespace tenon::test
