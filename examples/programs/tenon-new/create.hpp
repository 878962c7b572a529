// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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
/// when a file cannot be read or written, InvalidProgram for a file that is no program,
/// NotSupported for an entry that is neither a file nor a directory, and a `.from` that leads to no
/// file there.
[[nodiscard]] Result<std::size_t> create(const std::filesystem::path& from,
                                         const std::filesystem::path& to, const Names& names);

/// A program (.pte) with other ids: `rename` gets each delegate's id and returns its new id. The
/// flatbuffer is written anew, as ids differ in length; segments keep their bytes and their
/// alignment. InvalidProgram when `file` is not a program.
[[nodiscard]] Result<std::vector<std::byte>> rename_backends(
    std::span<const std::byte> file, const std::function<std::string(std::string_view)>& rename);

}  // namespace tenon::make_new
