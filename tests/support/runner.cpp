// SPDX-License-Identifier: MIT
//
// Catch2 2 without a `main`, for a program that has its own.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
