// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <variant>

#include "tenon/core/result.hpp"
#include "tool.hpp"

namespace tenon::cache {

/// The command line, taken apart.
struct Arguments {
  std::filesystem::path directory;  ///< Empty: the default one.
  bool verify = false;
  std::optional<std::uint64_t> prune;  ///< Bytes that may stay.
  bool json = false;
};

/// Reads the command line. InvalidArgument names the argument that is wrong.
[[nodiscard]] Result<std::variant<Arguments, PrintAndExit>> parse_arguments(
    int argc, const char* const* argv);

}  // namespace tenon::cache
