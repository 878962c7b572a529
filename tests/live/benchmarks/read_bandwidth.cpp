// SPDX-License-Identifier: MIT
//
// Prints the most bytes that one thread read in a nanosecond: the sum of a block of the given
// number of bytes, the best of many within the given seconds. The block is read at eight places at
// once, because a processor fetches ahead along several: at one it reads less than it can.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: read-bandwidth BYTES SECONDS\n");
    return 2;
  }
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t places = 8, line = 8;
  const std::size_t each = std::strtoull(argv[1], nullptr, 10) / 8 / places / line * line;
  if (each == 0) {
    std::fprintf(stderr, "read-bandwidth: %s bytes: expected at least %zu\n", argv[1],
                 8 * places * line);
    return 2;
  }
  const std::vector<std::uint64_t> block(each * places, 1);
  const auto end = Clock::now() + std::chrono::duration<double>(std::strtod(argv[2], nullptr));
  double best = 0;
  while (best == 0 || Clock::now() < end) {
    const auto before = Clock::now();
    std::array<std::uint64_t, line> sums{};
    for (std::size_t at = 0; at < each; at += line) {
      for (std::size_t place = 0; place < places; ++place) {
        for (std::size_t i = 0; i < line; ++i) sums[i] += block[place * each + at + i];
      }
    }
    const std::chrono::duration<double, std::nano> taken = Clock::now() - before;
    if (std::accumulate(sums.begin(), sums.end(), std::uint64_t{0}) != block.size()) return 1;
    const double rate = static_cast<double>(block.size() * 8) / taken.count();
    if (rate > best) best = rate;
  }
  std::printf("%.2f\n", best);
}
