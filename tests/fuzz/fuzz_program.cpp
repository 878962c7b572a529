// SPDX-License-Identifier: MIT
//
// libFuzzer target: whatever the bytes are, opening them as a program or data file must end with an
// error or with something that can be walked. See README.md for how to run it.

#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/program_walk.hpp"
#include "support/aligned_bytes.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const tenon::test::AlignedBytes file(std::as_bytes(std::span(data, size)));
  tenon::test::open_and_walk(file.bytes());
  return 0;
}
