// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "tenon/host/loader/plugin/plugin_gate.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The gate that loads the very file that was checked, and the libraries next to it in the same way
/// (docs/SECURITY.md). `all_layers` adds it. Never null.
///
/// threads: any. errors: never.
[[nodiscard]] std::shared_ptr<const PluginGate> trust_gate();

}}}  // namespace tenon::TENON_RELEASE::host
