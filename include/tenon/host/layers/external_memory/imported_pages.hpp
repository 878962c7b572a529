// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "tenon/core/result.hpp"
#include "tenon/host/loader/layer.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Has the backends of a method's delegates import its planned memory (extension
/// "tenon.external_memory/1"): where one of them imports memory of the host, planned buffers of a
/// page or more are whole pages, imported there for as long as the method exists, so that the
/// backend need not guess from an address whose memory it is. `all_layers` adds it. Without it all
/// planned memory is memory of the host as any other.
class ImportedPages final : public MethodLayer {
 public:
  [[nodiscard]] Result<std::unique_ptr<detail::MethodPart>> attach(
      detail::LoadRequest& request) const override;
};

}}}  // namespace tenon::TENON_RELEASE::host
