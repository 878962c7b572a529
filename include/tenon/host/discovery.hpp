// SPDX-License-Identifier: MIT
//
// The search for plugins, `discover` and `discovery`, for applications that find plugins by the ids
// in programs, and `ProviderRegistry`, which takes searches. A search reads manifests, and so needs
// the headers of nlohmann-json.
#pragma once

#include "tenon/host/layers/discovery/discovery.hpp"
#include "tenon/host/layers/discovery/platform_names.hpp"
#include "tenon/host/layers/discovery/provider_registry.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Defined by <tenon/host/layers/discovery/implementation.hpp>, and so by the library tenon-host. A
/// linker that does not find it, or finds two, says with its name what to do.
void include_tenon_host_discovery_implementation_hpp_in_exactly_one_source() noexcept;

namespace detail {
[[gnu::used]] inline constexpr auto* needs_discovery_implementation =
    &include_tenon_host_discovery_implementation_hpp_in_exactly_one_source;
}

}}}  // namespace tenon::TENON_RELEASE::host
