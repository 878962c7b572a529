// SPDX-License-Identifier: MIT
//
// The source of an application that has the definitions of the host; tests/headers links it.
// [definitions]
#include <tenon/host/implementation.hpp>  // of <tenon/host.hpp>, which the others need
#include <tenon/host/layers/discovery/implementation.hpp>  // of <tenon/host/discovery.hpp>
// [definitions]
