// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "kit/boundary/watched_backend.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance::detail {

/// A backend's extensions as `Boundary` shows them to a host: the same abilities, with each call
/// watched. An extension that is not in the headers is not shown, because its functions would get
/// pointers that are not the plugin's own.
class WatchedExtensions {
 public:
  /// The table of `id` for a host, for the plugin's table `theirs`, which `backend` keeps; null for
  /// an unknown id. Each call returns the same table; valid as long as this.
  [[nodiscard]] const void* wrap(WatchedBackend& backend, std::string_view id, const void* theirs);

 private:
  ExtensionTables shown_;
};

}}}  // namespace tenon::TENON_RELEASE::conformance::detail
