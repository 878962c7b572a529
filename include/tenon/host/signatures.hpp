// SPDX-License-Identifier: MIT
//
// Signatures of libraries, in the format of minisign: which publishers an application trusts, and
// a check of what it loads. libsodium, which computes them, is looked for when one is checked.
#pragma once

#include "tenon/host/layers/signatures/signature_policy.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Defined by <tenon/host/layers/signatures/implementation.hpp>, and so by the library tenon-host.
/// A linker that does not find it, or finds two, says with its name what to do.
void include_tenon_host_signatures_implementation_hpp_in_exactly_one_source() noexcept;

namespace detail {
[[gnu::used]] inline constexpr auto* needs_signatures_implementation =
    &include_tenon_host_signatures_implementation_hpp_in_exactly_one_source;
}

}}}  // namespace tenon::TENON_RELEASE::host
