// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "driver/driver.hpp"
#include "tenon/aoti/shims/call.hpp"

namespace tenon::cuda_aoti {

/// Results of the runtime have the driver's numbers.
using cudaError_t = CUresult;

/// Result of `cudaGetLastError`.
inline constinit thread_local cudaError_t last_error = CUDA_SUCCESS;

/// The pool of the calling model, or null on a thread that runs none.
inline aoti::TensorPool* calling_pool() noexcept { return aoti::detail::current_pool; }

/// Outcome of a shim: the driver's function that it called last, and its result.
struct Outcome {
  Outcome(CUresult result) noexcept : code(result) {}
  Outcome(std::string_view function, CUresult result) noexcept : call(function), code(result) {}
  std::string_view call{};  ///< Empty when none was called.
  CUresult code;
};

/// Calls a function of the driver and records its name.
#define TENON_DRIVER(driver, function, ...) Outcome(#function, (driver).function(__VA_ARGS__))

/// Runs a function of the driver for a model that called `name`. A failure is recorded for
/// `cudaGetLastError`, and in the error that the model's caller gets, which names both functions.
template <class Call>
cudaError_t run(std::string_view name, Call&& call) noexcept {
  try {
    const auto driver = load_driver();
    if (!driver.ok()) {
      last_error = CUDA_ERROR_NO_DEVICE;
      return last_error;
    }
    const Outcome outcome = std::forward<Call>(call)(**driver);
    if (outcome.code == CUDA_SUCCESS) return outcome.code;
    last_error = outcome.code;
    if (calling_pool()) {
      const bool is_the_same = outcome.call.empty() || outcome.call == name;
      const std::string what = is_the_same ? std::string(name) : concat(name, ": ", outcome.call);
      const Status failure = (*driver)->check(what, outcome.code);
      // Other numbers are about the model's own arguments, not its caller's.
      const bool is_known = failure.error() == Error::DelegateInvalidCompatibility ||
                            failure.error() == Error::MemoryAllocationFailed;
      calling_pool()->fail(std::string(failure.text()),
                           is_known ? failure.error() : Error::Internal);
    }
    return outcome.code;
  } catch (...) {
    last_error = CUDA_ERROR_OUT_OF_MEMORY;
    return last_error;
  }
}

}  // namespace tenon::cuda_aoti
