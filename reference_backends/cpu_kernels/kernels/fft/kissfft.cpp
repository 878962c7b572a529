// SPDX-License-Identifier: MIT
//
// Of every build.
//
// kissfft is loaded by name for the first model that transforms, as oneDNN and SLEEF are. The
// declarations follow its kiss_fft.h 131.1.0, with float as its scalar.
#include "kernels/fft/kissfft.hpp"

#include <algorithm>
#include <utility>

#include "common/isolated_library.hpp"

namespace tenon::cpu_aoti {
namespace {

struct Kissfft {
  Kissfft()
      : library("libkissfft-float.so.131"),
        alloc(library ? reinterpret_cast<decltype(alloc)>(library.symbol("kiss_fft_alloc"))
                      : nullptr),
        transform(library ? reinterpret_cast<decltype(transform)>(library.symbol("kiss_fft"))
                          : nullptr) {}

  aoti_common::IsolatedLibrary library;
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

namespace fft {

Status load() {
  const Kissfft& library = kissfft();
  if (library.alloc && library.transform) return ok();
  return error(Error::NotFound, "kissfft is needed (Debian: libkissfft-float131): ",
               library.library ? "libkissfft-float.so.131 lacks kiss_fft_alloc or kiss_fft"
                               : "libkissfft-float.so.131 cannot be loaded");
}

}  // namespace fft

Result<const FftPlan*> FftPlans::find(std::int64_t size, bool inverse) {
  ++now_;
  const auto found = std::ranges::find_if(
      plans_, [&](const FftPlan& plan) { return plan.size_ == size && plan.inverse_ == inverse; });
  if (found != plans_.end()) {
    found->last_used_ = now_;
    return &*found;
  }
  TENON_RETURN_IF_ERROR(fft::load());
  const Kissfft& library = kissfft();
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
  plan.last_used_ = now_;
  // Lengths that change do not add up.
  while (!plans_.empty() && (plans_.size() >= most_plans || nbytes_ + plan.nbytes() > most_bytes)) {
    const auto oldest = std::ranges::min_element(plans_, {}, &FftPlan::last_used_);
    nbytes_ -= oldest->nbytes();
    *oldest = std::move(plans_.back());
    plans_.pop_back();
  }
  nbytes_ += plan.nbytes();
  plans_.push_back(std::move(plan));
  return &plans_.back();
}

}  // namespace tenon::cpu_aoti
