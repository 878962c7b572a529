// SPDX-License-Identifier: MIT
//
// Lists what plugins prepared and a host keeps. docs/hosts/prepared.md describes it.
#include "program.hpp"
#include "terminate.hpp"

int main(int argc, char** argv) { return tenon::cache::run_program(argc, argv); }
