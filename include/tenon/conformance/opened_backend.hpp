// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "tenon/abi/backend.h"
#include "tenon/conformance/boundary.hpp"
#include "tenon/conformance/test.hpp"
#include "tenon/core/status.hpp"
#include "tenon/host/loader/plugin/backend.hpp"
#include "tenon/host/loader/registry/backend_ref.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

class LoadedPlugin;  // The library of the plugin, for the suites of the kit.

/// One backend of the subject, opened by a host behind a `Boundary`, with the options of the
/// subject file. Destruction closes it and unloads the plugin. Its functions as `Boundary` says.
class OpenedBackend {
 public:
  /// Opens the backend that the test judges. Ends the test as `blocked` when the plugin cannot be
  /// loaded or opened.
  explicit OpenedBackend(Context& kit, const HostShape& shape = {});
  OpenedBackend(const OpenedBackend&) = delete;
  OpenedBackend& operator=(const OpenedBackend&) = delete;
  ~OpenedBackend();

  /// Closes the backend before this is destroyed, unless a method still uses it. A plugin that
  /// touches its host from then on crashes, which breaks TN-BCK-9.
  void close() noexcept;

  /// The result of `open` in a host of that shape; the backend is closed again. Ends the test as
  /// `blocked` when `open` is not reached.
  [[nodiscard]] static Status try_open(Context& kit, const HostShape& shape);

  [[nodiscard]] Boundary& boundary() noexcept;
  /// The plugin's own table and the result of its `open`.
  [[nodiscard]] const tenon_backend_api& api() const noexcept;
  [[nodiscard]] tenon_backend* raw() const noexcept;
  /// The backend as the host has it: for `host::MethodOptions::backends`.
  [[nodiscard]] host::BackendRef ref() const;
  [[nodiscard]] const host::LoadedBackend& backend() const noexcept;
  [[nodiscard]] const LoadedPlugin& plugin() const noexcept;
  [[nodiscard]] const tenon_host* host() const noexcept;

 private:
  struct Parts;

  std::unique_ptr<Parts> parts_;
};

/// Ends the test as `not_applicable` on a machine where the backend says that it cannot work.
void need_device(Context& kit, const OpenedBackend& opened);

}}}  // namespace tenon::TENON_RELEASE::conformance
