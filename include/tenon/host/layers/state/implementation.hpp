// SPDX-License-Identifier: MIT
//
// The definitions of <tenon/host/sequence.hpp>, for a program that does not link the library
// tenon-host. Exactly one source of the program includes it. Needs <tenon/host/implementation.hpp>,
// in this source or another one.
#pragma once

#include "tenon/abi/version.h"

// Before the rest, so that it is the first of what a linker finds twice.
namespace tenon { inline namespace TENON_RELEASE { namespace host {

void include_tenon_host_sequence_implementation_hpp_in_exactly_one_source() noexcept {}

}}}  // namespace tenon::TENON_RELEASE::host

#include "tenon/host/sequence.hpp"

#include "tenon/host/layers/state/impl/conversations.hpp"
#include "tenon/host/layers/state/impl/sequence.hpp"
