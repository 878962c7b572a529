// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>

namespace tenon::conformance {

/// Random numbers, the same for the same seed on every machine. One thread at a time.
class Random {
 public:
  explicit Random(std::uint64_t seed);
  Random(const Random&) = delete;
  Random& operator=(const Random&) = delete;
  ~Random();

  /// The next number; all 64 bits are random.
  std::uint64_t operator()();

 private:
  struct Generator;
  std::unique_ptr<Generator> generator_;
};

}  // namespace tenon::conformance
