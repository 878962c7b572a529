// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>

#include "tenon/aot/compiler/link/needs_implementation.hpp"
#include "tenon/aot/compiler/write/file_image.hpp"
#include "tenon/aot/program_data.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// How a program is laid out. Alignments are powers of two, at least 16, and hold from the start of
/// the file.
struct PteOptions {
  std::uint64_t segment_alignment = 128;  ///< 4096 or more lets systems map segments one by one.
  std::uint64_t constant_alignment = 16;  ///< Of each constant.
  std::uint64_t delegate_alignment = 16;  ///< Of blobs in segments; those inside have 16.
  /// Of blobs with BlobPlacement::Default. An empty blob is always inline.
  BlobPlacement delegate_placement = BlobPlacement::Segment;
};

/// Lays out a `.pte` file that ExecuTorch 1.x and this host read.
///
/// - The head is a flatbuffer "ET12" of version 0 with the extended header. Segments follow:
///   one of all constants, one of all initial states when there are any, then blobs in the order of
///   methods and delegates, then named data in the order of its entries.
/// - Equal constants, states, blobs and named data are stored once.
/// - The same description and options give the same bytes.
/// - Large data is shared with the image, not copied; `program` may be destroyed.
///
/// errors: as `check_program`; InvalidArgument for a wrong option; NotSupported when the
///         flatbuffer needs more than 2 GiB.
[[nodiscard]] Result<FileImage> make_pte(const ProgramData& program,
                                         const PteOptions& options = {});

/// Lays out and writes a `.pte` file; nothing is at `path` before it is complete. External data is
/// written by `write_external_data`.
///
/// errors: as `make_pte` and FileImage::write.
Status write_pte(const ProgramData& program, const std::filesystem::path& path,
                 const PteOptions& options = {});

}}}  // namespace tenon::TENON_RELEASE::aot
