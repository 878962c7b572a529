// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <utility>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/isolation/plugin_isolation.hpp"
#include "tenon/host/loader/layer.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Loads backends of one method's delegates into processes of their own, for this method alone:
/// each is another one than the registry's, also where that is isolated. Not asked for
/// `MethodOptions::backends`, nor for plugins that offer kernels. Of a method with variants the
/// backends of all that may be loaded, where there are plugins for them.
///
/// errors of a load: as `BackendRegistry::isolate_backend`.
class Isolation final : public MethodLayer {
 public:
  /// `isolation` decides; null: none.
  explicit Isolation(std::shared_ptr<const PluginIsolation> isolation) noexcept
      : isolation_(std::move(isolation)) {}

  [[nodiscard]] Status add_backends(detail::LoadRequest& request) const override;

  [[nodiscard]] Result<std::unique_ptr<detail::MethodPart>> attach(
      detail::LoadRequest&) const override {
    return std::unique_ptr<detail::MethodPart>();
  }

 private:
  std::shared_ptr<const PluginIsolation> isolation_;
};

}}}  // namespace tenon::TENON_RELEASE::host
