// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/progress/load_progress.hpp"

#include <memory>

#include "tenon/core/result.hpp"
#include "tenon/host/loader/impl/method/loading.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/layer.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// Reports one load. `progress` is not used after it.
class ProgressPart final : public PartOf<ProgressPart> {
 public:
  explicit ProgressPart(const LoadProgress& progress) noexcept : progress_(progress) {
    progress_.num_loaded_ = 0;
    progress_.failed_ = LoadProgress::none;
  }

  [[nodiscard]] Status after_init(Loading&, DelegateLoad& delegate, Status outcome) override {
    if (outcome.ok()) progress_.num_loaded_ = delegate.index + 1;
    return outcome;
  }

  [[nodiscard]] Status after_load(Loading& loading, Status outcome) override {
    // A later part may have refused the last one.
    progress_.num_loaded_ = loading.method.delegates.size();
    if (!outcome.ok()) progress_.failed_ = loading.failed_delegate.value_or(LoadProgress::none);
    return outcome;
  }

 private:
  const LoadProgress& progress_;
};

}  // namespace detail

Result<std::unique_ptr<detail::MethodPart>> LoadProgress::attach(detail::LoadRequest&) const {
  return std::make_unique<detail::ProgressPart>(*this);
}

}}}  // namespace tenon::TENON_RELEASE::host
