// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>

#include "tenon/core/api.hpp"

namespace tenon::conformance {

/// Random numbers, the same for the same seed on every machine. One thread at a time.
class Random {
 public:
  TENON_API explicit Random(std::uint64_t seed);
  Random(const Random&) = delete;
  Random& operator=(const Random&) = delete;
  TENON_API ~Random();

  /// The next number; all 64 bits are random.
  TENON_API std::uint64_t operator()();

 private:
  struct Generator;
  std::unique_ptr<Generator> generator_;
};

}  // namespace tenon::conformance

#if TENON_CONFORMANCE_DEFINITIONS
#include <random>

namespace tenon::conformance {

struct Random::Generator {
  std::mt19937_64 numbers;
};

TENON_API Random::Random(std::uint64_t seed)
    : generator_(std::make_unique<Generator>(Generator{std::mt19937_64(seed)})) {}
TENON_API Random::~Random() = default;
TENON_API std::uint64_t Random::operator()() { return generator_->numbers(); }

}  // namespace tenon::conformance
#endif  // TENON_CONFORMANCE_DEFINITIONS
