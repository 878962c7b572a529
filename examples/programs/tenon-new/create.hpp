// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <filesystem>

#include "names.hpp"
#include "tenon/core/result.hpp"

namespace tenon::make_new {

/// Copies the template in `from` to the directory `to`, under the names of `names`: names of files,
/// texts, and the ids in programs (.pte). Which files may be run is kept. Gives the number of
/// files. A file `NAME.from` has the path of a file of another template, which is copied as `NAME`:
/// it begins in the directory that holds `from`.
///
/// All is written to a directory next to `to` that gets its name when it is complete; after a
/// failure nothing is left. InvalidArgument when `to` exists or its parent does not, AccessFailed
/// when a file cannot be read or written, InvalidProgram for a program that is none, NotSupported
/// for an entry that is neither a file nor a directory, and a `.from` that leads to no file there.
[[nodiscard]] Result<std::size_t> create(const std::filesystem::path& from,
                                         const std::filesystem::path& to, const Names& names);

}  // namespace tenon::make_new
