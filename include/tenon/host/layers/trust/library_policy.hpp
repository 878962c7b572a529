// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "tenon/core/extensions.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/platform/opened_file.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Decides which libraries a host loads (`HostInfo::library_policy`): plugins in files, and the
/// libraries next to them that are loaded with them ($ORIGIN in a run path). Under a policy no
/// library is loaded that a plugin names by an absolute path, as it could not be the one that was
/// admitted. Plugins that are linked in are part of the application, and not asked for.
class LibraryPolicy {
 public:
  LibraryPolicy() = default;
  LibraryPolicy(const LibraryPolicy&) = delete;
  LibraryPolicy& operator=(const LibraryPolicy&) = delete;
  virtual ~LibraryPolicy() = default;

  /// Returns the file that is loaded in place of `file`: itself, or a copy of it with its path and
  /// trust. The plugin's record is read from what is returned, and no code of it ran before.
  ///
  /// `signature` is the text of the signature that the plugin's manifest holds; empty: none.
  ///
  /// threads: any, also at once. errors: the library is not loaded, and the load fails with them.
  [[nodiscard]] virtual Result<OpenedFile> admit(OpenedFile file,
                                                 std::string_view signature) const = 0;
};

}}}  // namespace tenon::TENON_RELEASE::host
