// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "tenon/core/application/scheduling.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/layer.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Hints for the backends of a method, of which each follows those that its device knows:
/// `.layers = {SchedulingHints({.priority = Priority::High})}`. Later ones:
/// `Method::set_scheduling`. A value, which methods copy; any thread.
class SchedulingHints final : public MethodLayer {
 public:
  explicit SchedulingHints(const Scheduling& hints) noexcept : hints_(hints) {}

  [[nodiscard]] Result<std::unique_ptr<detail::MethodPart>> attach(
      detail::LoadRequest& request) const override;

 private:
  Scheduling hints_;
};

}}}  // namespace tenon::TENON_RELEASE::host
