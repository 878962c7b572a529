// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/isolation/plugin_isolation.hpp"

#include <utility>
#include <vector>

#include "tenon/host/layers/trust/impl/library.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

Result<OpenedFile> PluginIsolation::replace(OpenedFile file, const PluginRecord& record,
                                            const PluginGates& gates) const {
  TENON_TRY(const std::vector<OpenedFile> files, Library::files_of(std::move(file), gates));
  return isolate(files, record);
}

}}}  // namespace tenon::TENON_RELEASE::host
