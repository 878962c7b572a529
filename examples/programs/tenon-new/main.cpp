// SPDX-License-Identifier: MIT
//
// Makes a directory with a new backend out of a template. docs/getting-started/tenon-new.md
// describes it.
#include "program.hpp"
#include "terminate.hpp"

int main(int argc, char** argv) {
  return tenon::make_new::run_program(argc, argv,
                                      {TENON_TEMPLATES_FROM_BIN, TENON_TEMPLATES_INSTALLED});
}
