// SPDX-License-Identifier: MIT
//
// Shows what a plugin is. docs/tools/inspecting.md describes it.
#include "before_main.hpp"
#include "program.hpp"

int main(int argc, char** argv) { return tenon::inspect::run_program(argc, argv); }
