// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/scheduling/scheduling_hints.hpp"

#include <memory>

#include "tenon/abi/extensions/scheduling.h"
#include "tenon/core/application/scheduling.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/impl/method/loading.hpp"
#include "tenon/host/loader/layer.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// The hints of one method: each `init` gets them.
class HintsPart final : public PartOf<HintsPart> {
 public:
  explicit HintsPart(const Scheduling& hints) noexcept : hints_(tenon::detail::to_abi(hints)) {}

  [[nodiscard]] Status init_context(Loading&, DelegateLoad& delegate) override {
    delegate.context.scheduling = &hints_;
    return ok();
  }

 private:
  const tenon_scheduling hints_;
};

}  // namespace detail

Result<std::unique_ptr<detail::MethodPart>> SchedulingHints::attach(detail::LoadRequest&) const {
  if (hints_ == Scheduling()) return nullptr;
  return std::make_unique<detail::HintsPart>(hints_);
}

}}}  // namespace tenon::TENON_RELEASE::host
