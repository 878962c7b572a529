// SPDX-License-Identifier: MIT
//
// Plugins in processes of their own (docs/hosts/isolation.md): which plugins of an application run
// in a worker, and with which privileges. Linux; NotSupported elsewhere.
#pragma once

#include "tenon/host/layers/isolation/isolation.hpp"
#include "tenon/host/layers/isolation/worker_isolation.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Defined by <tenon/host/layers/isolation/implementation.hpp>, and so by the library tenon-host. A
/// linker that does not find it, or finds two, says with its name what to do.
void include_tenon_host_isolation_implementation_hpp_in_exactly_one_source() noexcept;

namespace detail {
[[gnu::used]] inline constexpr auto* needs_isolation_implementation =
    &include_tenon_host_isolation_implementation_hpp_in_exactly_one_source;
}

}}}  // namespace tenon::TENON_RELEASE::host
