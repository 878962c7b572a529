// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "fuzz/mutate/random.hpp"

namespace tenon::fuzz {

/// One entry point that takes untrusted bytes. What its seeds are is in corpus/PROGRAM/NAME.
struct Target {
  std::string_view name;

  /// Uses the bytes, whatever they are. They begin at a multiple of 16, as a mapped file does; with
  /// AddressSanitizer the byte behind them is an error to read.
  void (*run)(std::span<std::byte> bytes);

  /// Changes the first `size` bytes of `input`, which may grow to `input.size()`, and returns their
  /// new number. Null: libFuzzer's own mutations, which know nothing of a format.
  std::size_t (*mutate)(std::span<std::uint8_t> input, std::size_t size, Random& random) = nullptr;
};

/// The targets of this program. Each program defines it.
extern const std::span<const Target> targets;

[[nodiscard]] inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Checks a Result or Status: a failure has a text, which is what a user sees.
template <class Outcome>
void use(const Outcome& outcome) {
  if (!outcome.ok() && outcome.text().empty()) std::abort();
}

}  // namespace tenon::fuzz
