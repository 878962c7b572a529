// SPDX-License-Identifier: MIT
//
// Makes a program of a blob that a runtime's own compiler made. docs/tools/tenon-pack.md describes
// it.
#include "program.hpp"
#include "terminate.hpp"

int main(int argc, char** argv) { return tenon::pack::run_program(argc, argv); }
