// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "kit/process/source_lines.hpp"

/// Names of the frames of a process that ended: what its signal handler could write are addresses
/// and the mappings around them.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// The frames of a backtrace for a report: "execute+0x1c in /opt/acme/libacme.so+0x18a0", with the
/// offsets in the function and in the file. A frame without a symbol has the file and its offset
/// alone. A frame without a file, or that is no address ("0x7f12a4c01000"), is unchanged. Where the
/// file has debug information the function is demangled, and its source line is added:
/// "Acme::execute() +0x1c in /opt/acme/libacme.so+0x18a0 at /src/acme.cpp:42".
///
/// On Windows the offset is that in memory, and no function is named.
///
/// `frames` are innermost first; the first one is the instruction that failed, and the others are
/// return addresses. `maps` are lines as of /proc/PID/maps. `plugin` is the path that the caller
/// knows the plugin by, which the report has in place of what it resolves to.
///
/// Both lists are of a process in which a plugin could write anything. Each mapped file is read
/// once; debug information is read by a process of its own, with the limit of `lines` for all files
/// together.
[[nodiscard]] std::vector<std::string> name_frames(std::span<const std::string> frames,
                                                   std::span<const std::string> maps,
                                                   const std::filesystem::path& plugin,
                                                   const SourceLineOptions& lines = {});

}}}  // namespace tenon::TENON_RELEASE::conformance
