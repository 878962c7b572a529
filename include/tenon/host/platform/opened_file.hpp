// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>

#include "tenon/core/result.hpp"
#include "tenon/host/platform/file_descriptor.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Who answers for a path.
enum class Trust : std::uint8_t {
  caller,   ///< The caller that names it. Only the kind of file is checked.
  checked,  ///< Only the system and the user of the process can have put it there, as
            ///< `platform/trusted_path.hpp` says.
};

/// A regular file that is open for reading.
struct OpenedFile {
  FileDescriptor descriptor;
  std::filesystem::path path;  ///< As it was asked for. Absolute.
  FileIdentity identity;
  Trust trust = Trust::caller;  ///< How it was opened, and files that it needs are opened.
  bool is_admitted = false;     ///< By a policy of the host, whose gates are not asked again.
};

/// Opens the regular file at an absolute path, for which the caller answers by naming it
/// (`Trust::caller`).
///
/// Never waits, not even for a FIFO. threads: any. errors: NotFound when it or a directory on the
/// way is missing; InvalidArgument when the path is relative or names something else than a regular
/// file; AccessFailed when the system refuses. Texts begin with the path.
[[nodiscard]] Result<OpenedFile> open_named_file(const std::filesystem::path& path);

}}}  // namespace tenon::TENON_RELEASE::host
