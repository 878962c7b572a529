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
  std::int64_t size_ = 0;
  bool inverse_ = false;
  std::vector<std::max_align_t> memory_;
};

/// The plans that one instance of a model has used last.
class FftPlans {
 public:
  /// errors: NotFound when kissfft is not installed; NotSupported for a length that it does not
  /// have; MemoryAllocationFailed.
  [[nodiscard]] Result<const FftPlan*> find(std::int64_t size, bool inverse);

 private:
  std::vector<FftPlan> plans_;
  std::size_t next_ = 0;  ///< The one to replace.
};

}  // namespace tenon::cpu_aoti
