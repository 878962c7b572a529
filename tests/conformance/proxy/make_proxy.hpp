// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// The template of proxies: in the directory `proxy` next to this program in a build tree, or where
/// it was installed. errors: NotFound, which names both paths.
[[nodiscard]] Result<std::filesystem::path> find_proxy_template();

/// Writes to `out` a copy of the template at `template_file` that wraps the plugin at `plugin`: any
/// host can load it in place of the plugin, whose record it has. With `force`, a file at `out` is
/// replaced in one step.
///
/// errors: as `host::peek` when one of the two is not a plugin; NotSupported when the plugin has an
/// unsupported ABI or too many backends, or is a proxy itself; InvalidArgument when its path is too
/// long or `out` is the plugin; InvalidState when `out` already exists; AccessFailed when it cannot
/// be written.
[[nodiscard]] Status make_proxy(const std::filesystem::path& template_file,
                                const std::filesystem::path& plugin,
                                const std::filesystem::path& out, bool force);

}}}  // namespace tenon::TENON_RELEASE::conformance
