// SPDX-License-Identifier: MIT
//
// The definitions of <tenon/host/signatures.hpp>, for a program that does not link the library
// tenon-host. Exactly one source of the program includes it. Needs <tenon/host/implementation.hpp>,
// in this source or another one, and the headers of nlohmann-json.
#pragma once

#include "tenon/abi/version.h"

// Before the rest, so that it is the first of what a linker finds twice.
namespace tenon { inline namespace TENON_RELEASE { namespace host {

void include_tenon_host_signatures_implementation_hpp_in_exactly_one_source() noexcept {}

}}}  // namespace tenon::TENON_RELEASE::host

#include "tenon/host/signatures.hpp"

#include "tenon/host/layers/signatures/impl/minisign.hpp"
#include "tenon/host/layers/signatures/impl/publishers.hpp"
#include "tenon/host/layers/signatures/impl/signature_policy.hpp"
#include "tenon/host/layers/signatures/impl/sigstore.hpp"
