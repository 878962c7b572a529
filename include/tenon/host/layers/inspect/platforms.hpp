// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tenon/core/result.hpp"
#include "tenon/host/loader/plugin/platform.hpp"
#include "tenon/host/loader/plugin/plugin_record.hpp"

/// The platforms that libraries are for, and plugins for others than this host's.
namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The kind of file that a platform loads: "an ELF shared library for x86_64", "a Mach-O library
/// for arm64", "a Windows DLL for x86_64". threads: any.
[[nodiscard]] std::string describe_library(const Platform& platform);

/// The platform that a library is for, by its first bytes alone, so that a plugin can be described
/// that this host cannot load; nothing for a file that is not read (of another kind, or ELF of
/// another width than its machine's or not little-endian). The C library is not found so: it is
/// `any`. Of a universal Mach-O file on macOS this host's platform, otherwise the platform of the
/// first slice.
[[nodiscard]] std::optional<Platform> platform_of(std::span<const std::byte> bytes);

/// Reads the record of a plugin for `platform`, whose whole file is `file`. A record for another
/// platform than this host's describes a plugin that cannot be loaded here. In all else as `peek`
/// of <tenon/host/loader/plugin/peek.hpp>.
[[nodiscard]] Result<PluginRecord> peek(std::span<const std::byte> file, std::string_view name,
                                        const Platform& platform);

}}}  // namespace tenon::TENON_RELEASE::host
