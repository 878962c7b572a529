// SPDX-License-Identifier: MIT
//
// Storage for what plugins prepare from blobs, so that the first load on a machine is the only slow
// one (`PreparedCache`).
#pragma once

#include "tenon/host/layers/prepared/prepared_cache.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Defined by <tenon/host/layers/prepared/implementation.hpp>, and so by the library tenon-host. A
/// linker that does not find it, or finds two, says with its name what to do.
void include_tenon_host_prepared_implementation_hpp_in_exactly_one_source() noexcept;

namespace detail {
[[gnu::used]] inline constexpr auto* needs_prepared_implementation =
    &include_tenon_host_prepared_implementation_hpp_in_exactly_one_source;
}

}}}  // namespace tenon::TENON_RELEASE::host
