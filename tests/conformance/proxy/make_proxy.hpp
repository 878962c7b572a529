// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

#include "tenon/core/result.hpp"

namespace tenon::conformance {

/// The template of proxies: in the folder `proxy` beside this program's file, as it is built, or
/// where it was installed. errors: NotFound, which names both places.
[[nodiscard]] Result<std::filesystem::path> find_proxy_template();

/// Writes to `out` a copy of the template at `template_file` that any host loads in place of the
/// plugin at `plugin`: it says the same of itself, and wraps it. A file at `out` is replaced, in
/// one step, when `force` says so.
///
/// errors: those of `host::peek` when one of the two is no plugin; NotSupported when the plugin is
///         of an ABI that this program does not speak, has too many backends, or is a proxy itself;
///         InvalidArgument when its path is too long or `out` is the plugin; InvalidState when
///         there is something at `out`; AccessFailed when it cannot be written.
[[nodiscard]] Status make_proxy(const std::filesystem::path& template_file,
                                const std::filesystem::path& plugin,
                                const std::filesystem::path& out, bool force);

}  // namespace tenon::conformance
