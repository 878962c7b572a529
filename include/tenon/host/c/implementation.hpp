// SPDX-License-Identifier: MIT
//
// The definitions of <tenon/host/c/tenon_host.h>, of which the build makes libtenon.so. A program
// that has the host in itself, and calls it from C, includes this in exactly one source or links
// the library tenon-host. Needs <tenon/host/implementation.hpp> and the `implementation.hpp` of
// discovery and of async, in this source or other ones.
#pragma once

#include "tenon/abi/version.h"

// Before the rest, so that it is the first of what a linker finds twice.
namespace tenon { inline namespace TENON_RELEASE { namespace host {

void include_tenon_host_c_implementation_hpp_in_exactly_one_source() noexcept {}

}}}  // namespace tenon::TENON_RELEASE::host

// On Windows a program with these definitions in itself is no DLL.
#if defined(_WIN32) && !defined(TENON_HOST_BUILD) && !defined(TENON_HOST_STATIC)
#define TENON_HOST_STATIC
#endif

#include "tenon/host/c/tenon_host.h"

#include "tenon/host/c/impl/executor.hpp"
#include "tenon/host/c/impl/method.hpp"
#include "tenon/host/c/impl/outcome.hpp"
#include "tenon/host/c/impl/program.hpp"
#include "tenon/host/c/impl/registry.hpp"
#include "tenon/host/c/impl/values.hpp"
