// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tenon/core/status.hpp"
#include "tenon/host/prepared.hpp"

namespace tenon::cache {

/// The content of a directory.
struct Report {
  struct File {
    host::PreparedEntry entry;
    std::optional<Status> verified;  ///< Nothing when it was not asked for.
  };

  std::filesystem::path directory;
  std::vector<File> files;
  std::optional<std::size_t> num_removed;  ///< Nothing when it was not asked for.
};

/// A table for a person. Each line holds printable text only, whatever the files contain.
[[nodiscard]] std::string to_text(const Report& report);

/// One JSON object in one line of ASCII; docs/schemas/tenon-cache.schema.json describes it.
[[nodiscard]] std::string to_json(const Report& report);

}  // namespace tenon::cache
