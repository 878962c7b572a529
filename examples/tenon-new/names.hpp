// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "tenon/core/result.hpp"

namespace tenon::make_new {

/// The spellings of one backend's name: `acme_npu` for folders, files, namespaces and targets,
/// `AcmeNpu` for classes and the id, `ACME_NPU` for macros and variables.
struct Names {
  std::string snake;
  std::string pascal;
  std::string upper;
};

/// The names in templates that a real name replaces.
[[nodiscard]] const Names& placeholder();

/// The spellings of `snake`. InvalidArgument says what a name looks like, and how this one would,
/// when it is not in lower case with single underscores, is a word that C++ or a build system has
/// taken, ends in `_backend` (which the class's name has in any case), or is too long for an id.
[[nodiscard]] Result<Names> names_of(std::string_view snake);

/// `text` with every spelling of `from` replaced by the same spelling of `to`.
[[nodiscard]] std::string rename(std::string_view text, const Names& from, const Names& to);

}  // namespace tenon::make_new
