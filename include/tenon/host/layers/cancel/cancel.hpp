// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "tenon/core/result.hpp"
#include "tenon/host/loader/layer.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The layer with which `Method::cancel` can end a run: `.layers = {Cancellation()}`. Then each
/// instruction asks whether it may begin, and `limits.run_milliseconds` also cancels a delegate
/// that is running.
class Cancellation final : public MethodLayer {
 public:
  [[nodiscard]] Result<std::unique_ptr<detail::MethodPart>> attach(
      detail::LoadRequest& request) const override;
};

/// The layer that ends runs at `limits.run_milliseconds`. A method without this limit has no part
/// of it. `all_layers` has it, and so each method that is loaded with a `BackendRegistry`.
class TimeLimit final : public MethodLayer {
 public:
  [[nodiscard]] Result<std::unique_ptr<detail::MethodPart>> attach(
      detail::LoadRequest& request) const override;
};

}}}  // namespace tenon::TENON_RELEASE::host
