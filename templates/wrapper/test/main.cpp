// SPDX-License-Identifier: MIT
//
// The main function of the tests for Catch2 2; Catch2 3 links its own.
#define CATCH_CONFIG_MAIN
#include <tenon/conformance/catch.hpp>
