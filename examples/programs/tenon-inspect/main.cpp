// SPDX-License-Identifier: MIT
//
// Shows what a plugin is. docs/tools/inspecting.md describes it.
#include "program.hpp"
#include "terminate.hpp"

int main(int argc, char** argv) { return tenon::inspect::run_program(argc, argv); }
