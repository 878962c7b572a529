// SPDX-License-Identifier: MIT
#pragma once

/// Copies of files that no process can change, and states of files.
#if defined(_WIN32)
#include "tenon/host/platform/impl/windows/sealed_copy.hpp"
#else
#include "tenon/host/platform/impl/posix/sealed_copy.hpp"
#endif

#if !defined(__linux__)
#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "tenon/core/result.hpp"
#include "tenon/host/platform/opened_file.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

inline constexpr bool has_sealed_copies = false;

/// Never called.
inline Result<OpenedFile> sealed_file(std::span<const std::byte>, const std::filesystem::path& path,
                                      Trust, std::string_view) {
  return error(Error::NotSupported, path_text(path), ": this system has no sealed files");
}
inline Result<OpenedFile> sealed_copy(const OpenedFile& file, std::string_view purpose) {
  return sealed_file({}, file.path, file.trust, purpose);
}
inline Result<OpenedFile> same_copy(const OpenedFile& copy) { return sealed_copy(copy, {}); }

}}}  // namespace tenon::TENON_RELEASE::host::detail
#endif
