// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "tenon/abi/extensions/prepare.h"
#include "tenon/abi/host.h"
#include "tenon/core/result.hpp"
#include "tenon/core/sha256.hpp"
#include "tenon/host/loader/layer.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The key of prepared bytes.
struct PreparedKey {
  /// Of the plugin's file and the libraries next to it that it loads, the id of the backend, the
  /// compile specs, the blob, and what the backend says that its bytes depend on.
  Sha256 digest;
  std::string_view backend_id;   ///< For people.
  std::string_view plugin_path;  ///< For people.
};

/// Where bytes that plugins prepare from blobs are kept (abi/extensions/prepare.h), and found in
/// later loads: `.layers = {store}`. Without it nothing is kept. `PreparedCache` of
/// <tenon/host/prepared.hpp> keeps them in a directory; an application with another place derives
/// from this.
class PreparedStore : public MethodLayer {
 public:
  /// The bytes that are kept under `key`, or an object without bytes to store some in. The object
  /// is freed by its `release`. `log` receives lines about bytes that cannot be used or kept, and
  /// is valid as long as the object.
  ///
  /// threads: any, also at once. errors: the store's own; the backend continues without it.
  [[nodiscard]] virtual Status open(const PreparedKey& key, const tenon_host& log,
                                    tenon_prepared** out) const = 0;

  [[nodiscard]] Result<std::unique_ptr<detail::MethodPart>> attach(
      detail::LoadRequest& request) const final;
};

}}}  // namespace tenon::TENON_RELEASE::host
