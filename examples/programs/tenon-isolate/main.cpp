// SPDX-License-Identifier: MIT
//
// Makes a plugin that runs another one in a process of its own. docs/hosts/isolation.md describes
// it.
#include "program.hpp"
#include "terminate.hpp"

int main(int argc, char** argv) { return tenon::isolate::run_program(argc, argv); }
