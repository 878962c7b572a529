// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "gpu.hpp"

namespace gpu_test {

namespace {
int failed = 0;
std::string reason;  // See `take_reason`.
}  // namespace

void give_up(const std::string& text) {
  std::fprintf(stderr, "FAILED: %s\n", text.c_str());
  std::exit(1);
}

void fail(const std::string& text) {
  ++failed;
  std::fprintf(stderr, "FAILED: %s\n", text.c_str());
}

void not_available(const std::string& why) { reason = why; }

std::string take_reason() { return std::exchange(reason, {}); }

int failures() { return failed; }

Memory::Memory(std::size_t nbytes) : nbytes_(nbytes), base_(gpu().allocate(nbytes + 2 * guard)) {
  const std::vector<unsigned char> filled(nbytes + 2 * guard, 0xa5);
  gpu().upload(base_, filled.data(), filled.size());
}

Memory::~Memory() {
  std::vector<unsigned char> all(nbytes_ + 2 * guard);
  gpu().download(all.data(), base_, all.size());
  const auto untouched = [](unsigned char byte) { return byte == 0xa5; };
  if (!std::all_of(all.begin(), all.begin() + guard, untouched) ||
      !std::all_of(all.end() - guard, all.end(), untouched)) {
    fail("something was written beyond a tensor");
  }
  gpu().free(base_);
}

}  // namespace gpu_test
