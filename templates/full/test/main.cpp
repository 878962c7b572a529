// SPDX-License-Identifier: MIT
//
// With Catch2 2 the main function of the tests; Catch2 3 links its own.
#define CATCH_CONFIG_MAIN
#include <tenon/conformance/catch.hpp>
