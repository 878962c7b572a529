// SPDX-License-Identifier: MIT
//
// Prints the most bytes that one thread read in a nanosecond: the sum of a block of the given
// number of bytes, the best of many within the given seconds.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: read-bandwidth BYTES SECONDS\n");
    return 2;
  }
  using Clock = std::chrono::steady_clock;
  const std::vector<std::uint64_t> block(std::strtoull(argv[1], nullptr, 10) / 8, 1);
  const auto end = Clock::now() + std::chrono::duration<double>(std::strtod(argv[2], nullptr));
  double best = 0;
  while (best == 0 || Clock::now() < end) {
    const auto before = Clock::now();
    std::uint64_t sum = 0;
    for (const std::uint64_t word : block) sum += word;
    const std::chrono::duration<double, std::nano> taken = Clock::now() - before;
    if (sum != block.size()) return 1;
    const double rate = static_cast<double>(block.size() * 8) / taken.count();
    if (rate > best) best = rate;
  }
  std::printf("%.2f\n", best);
}
