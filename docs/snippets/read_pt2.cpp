// SPDX-License-Identifier: MIT
// Prints the contents of a PyTorch archive: read-pt2 MODEL.pt2
#include <cstdio>
#include <iostream>
#include <tenon/aot/compiler/lower/edge_program_text.hpp>
#include <tenon/aot/compiler/pt2/reader.hpp>

namespace {

tenon::Status show(const char* path) {
  // [read]
  TENON_TRY(const tenon::aot::Pt2Program archive, tenon::aot::read_pt2(path));
  for (const tenon::aot::Pt2Method& method : archive.methods) {
    std::cout << tenon::aot::to_text(method.program.view());
  }
  // [read]
  return tenon::ok();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const tenon::Status status = show(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "read-pt2: %s\n", tenon::describe(status).c_str());
  return status.ok() ? 0 : 1;
}
