// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "tenon/core/result.hpp"
#include "tenon/core/sha256.hpp"

/// SHA-256 of files, and as text.
namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Reads 64 hexadecimal digits of either case. InvalidArgument says what was found instead.
[[nodiscard]] Result<Sha256> parse_sha256(std::string_view text);

/// Hashes the whole file behind `descriptor`, from its beginning; the position of the descriptor is
/// not used. AccessFailed when it cannot be read.
[[nodiscard]] Result<Sha256> sha256_of_file(int descriptor);

}}}  // namespace tenon::TENON_RELEASE::host
