// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <utility>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/async/executor.hpp"
#include "tenon/host/loader/layer.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

class Method;

/// The layer with which a method can `execute_async`: `.layers = {Async(threads->executor())}`.
/// `executor` runs what such a run leaves for later. Without an executor in it the layer has no
/// part of a method.
class Async final : public MethodLayer {
 public:
  explicit Async(Executor executor) noexcept : executor_(std::move(executor)) {}

  [[nodiscard]] Result<std::unique_ptr<detail::MethodPart>> attach(
      detail::LoadRequest& request) const override;

 private:
  Executor executor_;
};

namespace detail {

/// Waits for the asynchronous runs of `method` and their completions, except those that the calling
/// thread is in.
void wait_for_runs(Method& method);

}  // namespace detail

}}}  // namespace tenon::TENON_RELEASE::host
