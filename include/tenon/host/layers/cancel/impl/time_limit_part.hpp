// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/observed/impl/run_observer.hpp"
#include "tenon/host/layers/observed/impl/run_observers.hpp"
#include "tenon/host/loader/files/limits.hpp"
#include "tenon/host/loader/impl/method/errors.hpp"
#include "tenon/host/loader/impl/method/loading.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/layer.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The limit in time of one method's runs, which is compared before each instruction.
class TimeLimitPart final : public PartOf<TimeLimitPart>, public RunObserver {
 public:
  [[nodiscard]] Status before_load(Loading& loading) override {
    loading.keeps_time = true;
    // The first one, where the layer is listed twice.
    if (find_part<TimeLimitPart>(loading.method) == this) {
      observe(loading.method, *this, {.may_refuse = true});
    }
    return ok();
  }

  void begin_instructions(MethodState&) noexcept override { start_ = Clock::now(); }
  [[nodiscard]] bool may_begin(MethodState& method) noexcept override {
    return milliseconds() <= method.options.limits.run_milliseconds;
  }
  [[nodiscard]] Status refusal(MethodState& method, std::size_t chain, std::size_t index) override {
    return over_limit(concat(errors_of(method).where(chain, index), ": milliseconds of the run"),
                      milliseconds(), "run_milliseconds", method.options.limits.run_milliseconds);
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// Of the run so far.
  [[nodiscard]] std::uint64_t milliseconds() const noexcept {
    const auto passed = std::chrono::ceil<std::chrono::milliseconds>(Clock::now() - start_);
    return static_cast<std::uint64_t>(passed.count());
  }

  Clock::time_point start_{};
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
