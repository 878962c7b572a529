// SPDX-License-Identifier: MIT
//
// Says what a program needs and whether it is here. docs/tools/inspecting.md describes it.
#include "installed_plugins.hpp"
#include "program.hpp"
#include "terminate.hpp"

int main(int argc, char** argv) {
  return tenon::doctor::run_program(argc, argv, tenon::installed_plugins());
}
