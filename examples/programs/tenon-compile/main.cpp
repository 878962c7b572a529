// SPDX-License-Identifier: MIT
//
// Compiles what PyTorch exported to a program. docs/aot/tenon-compile.md describes it.
#include "installed_plugins.hpp"
#include "program.hpp"
#include "terminate.hpp"

int main(int argc, char** argv) {
  return tenon::compile::run_program(argc, argv, tenon::installed_plugins());
}
