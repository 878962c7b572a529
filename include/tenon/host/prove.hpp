// SPDX-License-Identifier: MIT
//
// Golden cases of programs, which a device passes before it is trusted (`Prove`), and another
// variant where one fails (`FailoverMethod`).
#pragma once

#include "tenon/host/layers/prove/compare_layers.hpp"
#include "tenon/host/layers/prove/failover.hpp"
#include "tenon/host/layers/prove/golden.hpp"
#include "tenon/host/layers/prove/prove.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Defined by <tenon/host/layers/prove/implementation.hpp>, and so by the library tenon-host. A
/// linker that does not find it, or finds two, says with its name what to do.
void include_tenon_host_prove_implementation_hpp_in_exactly_one_source() noexcept;

namespace detail {
[[gnu::used]] inline constexpr auto* needs_prove_implementation =
    &include_tenon_host_prove_implementation_hpp_in_exactly_one_source;
}

}}}  // namespace tenon::TENON_RELEASE::host
