// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/trust/trust_gate.hpp"

#include <utility>
#include <vector>

#include "tenon/host/layers/trust/impl/library.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

class TrustGate final : public PluginGate {
 public:
  [[nodiscard]] Result<std::unique_ptr<LoadedLibraries>> load(
      OpenedFile& file, const PluginGates& gates) const override {
    TENON_TRY(std::vector<OpenedFile> files, Library::files_of(std::move(file), gates));
    TENON_TRY(Library library, Library::load(std::move(files)));
    return std::unique_ptr<LoadedLibraries>(std::make_unique<Library>(std::move(library)));
  }
};

}  // namespace detail

std::shared_ptr<const PluginGate> trust_gate() {
  static const std::shared_ptr<const PluginGate> gate = std::make_shared<detail::TrustGate>();
  return gate;
}

}}}  // namespace tenon::TENON_RELEASE::host
