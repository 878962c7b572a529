// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <initializer_list>

#include "tenon/core/bytes.hpp"
#include "tenon/core/result.hpp"
#if defined(_WIN32)
#include "tenon/host/platform/windows/new_file.hpp"
#else
#include "tenon/host/platform/posix/new_file.hpp"
#endif

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Writes `parts`, one after the other, as the file `path` (NewFile).
[[nodiscard]] Status write_file(const std::filesystem::path& path,
                                std::initializer_list<Bytes> parts);

}}}  // namespace tenon::TENON_RELEASE::host
