// SPDX-License-Identifier: MIT
//
// The functions that libFuzzer calls. The variable TENON_FUZZ_TARGET names a target of this
// program; without it the program's own name does, "fuzz-npy", as OSS-Fuzz starts it.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "fuzz/fuzz_target.hpp"
#include "support/aligned_bytes.hpp"

namespace {

using tenon::fuzz::Target;

const Target* chosen = nullptr;

void print_targets(std::FILE* to) {
  for (const Target& target : tenon::fuzz::targets) {
    std::fprintf(to, "%.*s\n", static_cast<int>(target.name.size()), target.name.data());
  }
}

std::string_view name_of_program(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  constexpr std::string_view front = "fuzz-";
  return path.starts_with(front) ? path.substr(front.size()) : path;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  if (*argc == 2 && std::string_view((*argv)[1]) == "--targets") {
    print_targets(stdout);
    std::exit(0);
  }
  const char* const variable = std::getenv("TENON_FUZZ_TARGET");
  const std::string_view name = variable ? variable : name_of_program((*argv)[0]);
  for (const Target& target : tenon::fuzz::targets) {
    if (target.name == name) chosen = &target;
  }
  if (chosen) return 0;
  std::fprintf(stderr, "TENON_FUZZ_TARGET: expected the name of a target, found '%s'; there are\n",
               std::string(name).c_str());
  print_targets(stderr);
  std::exit(2);
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  if (!chosen->mutate) return LLVMFuzzerMutate(data, size, max_size);
  tenon::fuzz::Random random(seed);
  return chosen->mutate({data, max_size}, size, random);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tenon::test::AlignedBytes copy(std::as_bytes(std::span(data, size)));
  chosen->run(copy.bytes());
  return 0;
}
