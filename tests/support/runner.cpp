// SPDX-License-Identifier: MIT
//
// Catch2 2 as a library: most of what it costs to compile is compiled once, here. A program that
// has a `main` of its own links this alone.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

int run_catch(int argc, char** argv) { return Catch::Session().run(argc, argv); }
