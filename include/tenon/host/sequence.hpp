// SPDX-License-Identifier: MIT
//
// States of a method that can go back, branch, be stored and be taken up again; and many of them
// over one method, for several threads.
#pragma once

#include "tenon/host/layers/state/conversations.hpp"
#include "tenon/host/layers/state/sequence.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Defined by <tenon/host/layers/state/implementation.hpp>, and so by the library tenon-host. A
/// linker that does not find it, or finds two, says with its name what to do.
void include_tenon_host_sequence_implementation_hpp_in_exactly_one_source() noexcept;

namespace detail {
[[gnu::used]] inline constexpr auto* needs_sequence_implementation =
    &include_tenon_host_sequence_implementation_hpp_in_exactly_one_source;
}

}}}  // namespace tenon::TENON_RELEASE::host
