// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "tenon/aot/compiler/link/needs_implementation.hpp"
#include "tenon/aot/compiler/write/file_image.hpp"
#include "tenon/aot/named_data.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

struct PtdOptions {
  /// Each segment begins at a multiple of this and of the alignment that its keys asked for. A
  /// power of two, at least 16.
  std::uint64_t segment_alignment = 128;
};

/// Lays out a `.ptd` file ("FT01", ExecuTorch's extension/flat_tensor) of `entries`, whose
/// `buffer_index` counts `buffers`. Equal calls give equal files. Buffers are shared, not copied.
///
/// errors: InvalidArgument for a wrong option and for entries that `check_program` would refuse;
///         NotSupported as `check_layout`.
[[nodiscard]] Result<FileImage> make_ptd(const std::vector<SharedBytes>& buffers,
                                         const std::vector<NamedEntry>& entries,
                                         const PtdOptions& options = {});

/// Lays out and writes a `.ptd` file; nothing is at `path` before it is complete.
///
/// errors: as `make_ptd` and FileImage::write.
Status write_ptd(const std::vector<SharedBytes>& buffers, const std::vector<NamedEntry>& entries,
                 const std::filesystem::path& path, const PtdOptions& options = {});

/// Writes each tag of `data.external_data` to `directory` / (tag + ".ptd") and returns the paths.
/// Files appear when all of them are written.
///
/// errors: as `write_ptd`; InvalidArgument when a tag is not a file name or appears twice.
[[nodiscard]] Result<std::vector<std::filesystem::path>> write_external_data(
    const NamedDataStoreOutput& data, const std::filesystem::path& directory,
    const PtdOptions& options = {});

}}}  // namespace tenon::TENON_RELEASE::aot
