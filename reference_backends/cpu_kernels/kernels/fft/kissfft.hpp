// SPDX-License-Identifier: MIT
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tenon/core/result.hpp"

namespace tenon::cpu_aoti {

/// Transforms of one length in one direction (kissfft's `kiss_fft_cfg`, which is one block of
/// memory).
class FftPlan {
 public:
  /// The sums of `from` with the roots of unity, not scaled. `to` is other memory.
  void run(const std::complex<float>* from, std::complex<float>* to) const noexcept;

 private:
  friend class FftPlans;
  [[nodiscard]] std::size_t nbytes() const noexcept {
    return memory_.size() * sizeof(std::max_align_t);
  }

  std::int64_t size_ = 0;
  bool inverse_ = false;
  std::uint64_t last_used_ = 0;
  std::vector<std::max_align_t> memory_;
};

namespace fft {

/// errors: NotFound when kissfft is not installed, or lacks a function.
[[nodiscard]] Status load();

}  // namespace fft

/// The plans that one instance of a model has used last.
class FftPlans {
 public:
  static constexpr std::size_t most_plans = 1024;
  /// Of all plans. A larger one is the only one.
  static constexpr std::size_t most_bytes = std::size_t{64} << 20;

  /// Valid until the next call. A new plan replaces those that were not used for longest, when
  /// there is no room for it.
  /// errors: NotFound when kissfft is not installed; NotSupported for a length that it does not
  /// have; MemoryAllocationFailed.
  [[nodiscard]] Result<const FftPlan*> find(std::int64_t size, bool inverse);

  [[nodiscard]] std::size_t size() const noexcept { return plans_.size(); }
  [[nodiscard]] std::size_t nbytes() const noexcept { return nbytes_; }

 private:
  std::vector<FftPlan> plans_;
  std::size_t nbytes_ = 0;
  std::uint64_t now_ = 0;  ///< The number of calls.
};

}  // namespace tenon::cpu_aoti
