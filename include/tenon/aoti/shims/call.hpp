// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <exception>
#include <utility>

#include "tenon/aoti/tensors/tensor_pool.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

/// Result of a shim: 0, or 1 for a failure (PyTorch's AOTITorchError). The text of a failure is
/// recorded in the pool of the calling model.
using ShimError = std::int32_t;
inline constexpr ShimError shim_ok = 0;
inline constexpr ShimError shim_failed = 1;

namespace detail {
inline constinit thread_local TensorPool* current_pool = nullptr;
}  // namespace detail

/// The pool of the model that is running on this thread. Shims have no argument that identifies the
/// calling model.
[[nodiscard]] inline TensorPool& current_pool() noexcept { return *detail::current_pool; }

/// The flag of the run whose kernel the calling thread is in, for kernels that take long; outside
/// of a run, a flag that is never set. A kernel that the flag ended early must fail.
[[nodiscard]] inline CancelFlag cancel_flag() noexcept {
  return detail::current_pool ? detail::current_pool->cancel_flag() : CancelFlag();
}

/// Makes `pool` the current pool of this thread for the lifetime of this object. Nests.
class CurrentPool {
 public:
  explicit CurrentPool(TensorPool& pool) noexcept
      : before_(std::exchange(detail::current_pool, &pool)) {}
  CurrentPool(const CurrentPool&) = delete;
  CurrentPool& operator=(const CurrentPool&) = delete;
  ~CurrentPool() { detail::current_pool = before_; }

 private:
  TensorPool* before_;
};

/// Runs the body of a shim. A failed Status and an exception become its error, because nothing must
/// be thrown into a model's code, and their text is recorded.
template <class Body>
[[nodiscard]] ShimError shim_call(const char* name, Body&& body) noexcept {
  try {
    const Status status = std::forward<Body>(body)();
    if (status.ok()) [[likely]]
      return shim_ok;
    current_pool().fail(concat(std::string_view(name), ": ", status.text()));
  } catch (const std::exception& thrown) {
    try {
      current_pool().fail(concat(std::string_view(name), ": ", std::string_view(thrown.what())));
    } catch (...) {
      return shim_failed;  // No memory for the text.
    }
  } catch (...) {
    return shim_failed;
  }
  return shim_failed;
}

}}}  // namespace tenon::TENON_RELEASE::aoti
