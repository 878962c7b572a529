// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdlib>

#include "support/sanitizer.hpp"

namespace tenon::test {

/// A round of damage takes ten to thirty times as long under a sanitizer. Fewer rounds are run
/// there: the fuzzers (`./dev fuzz`) try the same parsers for longer.
#ifdef TENON_TEST_HAS_SANITIZER
inline constexpr std::uint64_t rounds_divisor = 10;
#else
inline constexpr std::uint64_t rounds_divisor = 1;
#endif

/// How often to try what should be tried `count` times.
template <class Count>
constexpr Count rounds(Count count) {
  return count / static_cast<Count>(rounds_divisor);
}

/// The number in an environment variable, or `otherwise`. Tests with random damage take theirs from
/// TENON_TEST_SEED and TENON_TEST_FLIPS.
inline std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace tenon::test
