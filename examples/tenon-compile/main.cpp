// SPDX-License-Identifier: MIT
//
// Compiles what PyTorch exported to a program. docs/aot/tenon-compile.md describes it.
#include "before_main.hpp"
#include "installed_plugins.hpp"
#include "program.hpp"

int main(int argc, char** argv) {
  return tenon::compile::run_program(argc, argv, tenon::installed_plugins);
}
