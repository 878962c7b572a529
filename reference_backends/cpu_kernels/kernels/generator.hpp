// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <random>
#include <span>
#include <type_traits>
#include <utility>

/// The source of random numbers of one instance of a model: with the same seed, numbers equal
/// PyTorch's generator for the CPU after `torch.manual_seed` (ATen: CPUGeneratorImpl.cpp,
/// DistributionsHelper.h, TransformationHelper.h).
namespace tenon::cpu_aoti {

class Generator {
 public:
  /// Seeded by the system.
  Generator() : engine_(std::random_device{}()) {}

  /// PyTorch uses the low half of a seed.
  void seed(std::uint64_t seed) {
    engine_.seed(static_cast<std::uint32_t>(seed));
    has_next_ = false;
  }

  /// All that decides the next numbers.
  [[nodiscard]] std::span<std::byte> bytes() noexcept {
    static_assert(std::is_trivially_copyable_v<Generator>);
    return std::as_writable_bytes(std::span(this, 1));
  }

  [[nodiscard]] std::uint32_t word() { return static_cast<std::uint32_t>(engine_()); }
  /// Two words, the first one above.
  [[nodiscard]] std::uint64_t two_words() {
    const std::uint64_t high = word();
    return high << 32 | word();
  }

  /// Uniform in [0, 1), with as many bits as T holds.
  template <class T>
  [[nodiscard]] T uniform() {
    constexpr int digits = std::numeric_limits<T>::digits;
    constexpr std::uint64_t mask = (std::uint64_t{1} << digits) - 1;
    const std::uint64_t bits = sizeof(T) == sizeof(double) ? two_words() : word();
    return static_cast<T>(bits & mask) * (T{1} / static_cast<T>(std::uint64_t{1} << digits));
  }

  /// Of the standard normal distribution. They are made in pairs (Box and Muller).
  [[nodiscard]] double normal() {
    if (std::exchange(has_next_, false)) return next_;
    const double angle = 2 * std::numbers::pi * uniform<double>();
    const double radius = std::sqrt(-2 * std::log1p(-uniform<double>()));
    next_ = radius * std::sin(angle);
    has_next_ = true;
    return radius * std::cos(angle);
  }

 private:
  std::mt19937 engine_;
  double next_ = 0;
  bool has_next_ = false;
};

}  // namespace tenon::cpu_aoti
