// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "tenon/core/result.hpp"

namespace tenon::make_new {

/// The spellings of one backend's name: `acme_npu` for directories, files, namespaces and targets,
/// `AcmeNpu` for the class, `ACME_NPU` for macros and variables; and its id, by which programs
/// refer to it.
struct Names {
  std::string snake;
  std::string camel;  ///< `pascal` is a macro of Windows.
  std::string upper;
  std::string id;
};

/// The names in templates that a real name replaces.
[[nodiscard]] const Names& placeholder();

/// The spellings of `snake`. InvalidArgument says what a name looks like, and how this one would,
/// when it is not in lower case with single underscores, is a word that C++ or a build system has
/// taken, ends in `_backend` (which the id has in any case), or is too long for an id.
///
/// `id` is the id of programs that exist already, `AcmeNpuBackend` when it is empty.
/// InvalidArgument unless it has 1 to 63 of the characters A-Z, a-z, 0-9, `_`, `.` and `-`, which
/// have no meaning in the languages that a template is written in.
[[nodiscard]] Result<Names> names_of(std::string_view snake, std::string_view id = {});

/// `text` with every spelling of `from`, and its id, replaced by the spelling or id of `to`.
[[nodiscard]] std::string rename(std::string_view text, const Names& from, const Names& to);

}  // namespace tenon::make_new
