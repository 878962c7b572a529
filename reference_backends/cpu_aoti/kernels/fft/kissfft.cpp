// SPDX-License-Identifier: MIT
//
// kissfft is loaded by name for the first model that transforms, as oneDNN and SLEEF are. The
// declarations are those of its kiss_fft.h 131.1.0, with float as its scalar.
#include "kernels/fft/kissfft.hpp"

#include <algorithm>
#include <utility>

#include "isolated_library.hpp"

namespace tenon::cpu_aoti {
namespace {

struct Kissfft {
  Kissfft()
      : library("libkissfft-float.so.131"),
        alloc(library ? reinterpret_cast<decltype(alloc)>(library.symbol("kiss_fft_alloc"))
                      : nullptr),
        transform(library ? reinterpret_cast<decltype(transform)>(library.symbol("kiss_fft"))
                          : nullptr) {}

  IsolatedLibrary library;
  /// Writes a plan to `memory` when `size` is large enough; otherwise only the size to `size`.
  void* (*alloc)(int length, int inverse, void* memory, std::size_t* size);
  void (*transform)(void* plan, const std::complex<float>* from, std::complex<float>* to);
};

const Kissfft& kissfft() {
  static const Kissfft only;
  return only;
}

}  // namespace

void FftPlan::run(const std::complex<float>* from, std::complex<float>* to) const noexcept {
  // The plan is not written to; the interface has no const.
  kissfft().transform(const_cast<std::max_align_t*>(memory_.data()), from, to);
}

Result<const FftPlan*> FftPlans::find(std::int64_t size, bool inverse) {
  const auto found = std::ranges::find_if(
      plans_, [&](const FftPlan& plan) { return plan.size_ == size && plan.inverse_ == inverse; });
  if (found != plans_.end()) return &*found;
  const Kissfft& library = kissfft();
  if (!library.alloc || !library.transform) {
    return error(Error::NotFound, "kissfft is needed (Debian: libkissfft-float131): ",
                 library.library ? "libkissfft-float.so.131 lacks kiss_fft_alloc or kiss_fft"
                                 : "libkissfft-float.so.131 cannot be loaded");
  }
  // Its lengths are int, and the size of a plan is computed in size_t.
  constexpr std::int64_t longest = std::int64_t{1} << 28;
  if (size < 1 || size > longest) {
    return error(Error::NotSupported, "a transform of ", size, " numbers: expected 1 to ", longest);
  }
  FftPlan plan;
  plan.size_ = size;
  plan.inverse_ = inverse;
  std::size_t nbytes = 0;
  library.alloc(static_cast<int>(size), inverse ? 1 : 0, nullptr, &nbytes);
  plan.memory_.resize((nbytes + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t));
  if (!library.alloc(static_cast<int>(size), inverse ? 1 : 0, plan.memory_.data(), &nbytes)) {
    return error(Error::Internal, "kissfft makes no plan for ", size, " numbers");
  }
  // Sizes that change do not add up.
  constexpr std::size_t most = 16;
  if (plans_.size() < most) {
    plans_.push_back(std::move(plan));
    return &plans_.back();
  }
  FftPlan& oldest = plans_[std::exchange(next_, (next_ + 1) % most)];
  oldest = std::move(plan);
  return &oldest;
}

}  // namespace tenon::cpu_aoti
