// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "tenon/core/result.hpp"
#include "tenon/host/loader/plugin/plugin_gate.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Decides which libraries a host loads (one of `HostInfo::gates`): plugins in files, and the
/// libraries next to them that are loaded with them ($ORIGIN in a run path). Under a policy no
/// library is loaded that a plugin names by an absolute path, as the loaded bytes might not be the
/// admitted ones. Plugins that are linked in are part of the application, and not asked for.
class LibraryPolicy : public PluginGate {
 public:
  [[nodiscard]] bool is_policy() const noexcept final { return true; }
  [[nodiscard]] Result<OpenedFile> admit(OpenedFile file,
                                         std::string_view signature) const override = 0;
};

}}}  // namespace tenon::TENON_RELEASE::host
