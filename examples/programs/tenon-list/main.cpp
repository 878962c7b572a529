// SPDX-License-Identifier: MIT
//
// Lists the backends that a host would find. docs/tools/inspecting.md describes it.
#include "installed_plugins.hpp"
#include "program.hpp"
#include "terminate.hpp"

int main(int argc, char** argv) {
  return tenon::list::run_program(argc, argv, tenon::installed_plugins());
}
