// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "tenon/abi/backend.h"
#include "tenon/abi/extensions/cancel.h"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/cancel/cancel_flag_table.hpp"
#include "tenon/host/layers/cancel/impl/run_control.hpp"
#include "tenon/host/layers/cancel/impl/time_limit_part.hpp"
#include "tenon/host/layers/observed/impl/run_observer.hpp"
#include "tenon/host/layers/observed/impl/run_observers.hpp"
#include "tenon/host/loader/impl/method/errors.hpp"
#include "tenon/host/loader/impl/method/loaded_delegate.hpp"
#include "tenon/host/loader/impl/method/loading.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/layer.hpp"
#include "tenon/host/loader/plugin/calls.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// A layer that takes part in cancelling a run, besides the delegates.
class CancelListener {
 public:
  /// While the run is going on, from the thread that cancels it.
  virtual void cancelled() noexcept = 0;

 protected:
  CancelListener() = default;
  CancelListener(const CancelListener&) = default;
  CancelListener& operator=(const CancelListener&) = default;
  ~CancelListener() = default;
};

/// A method whose runs can be cancelled.
class CancelPart final : public PartOf<CancelPart>, public RunObserver {
 public:
  [[nodiscard]] Status before_load(Loading& loading) override {
    MethodState& method = loading.method;
    if (find_part<CancelPart>(method) != this) return ok();  // The layer is listed twice.
    try {
      control_ = std::make_unique<RunControl>(method.options.limits.run_milliseconds,
                                              [this] { cancel_delegates(); });
    } catch (const std::system_error& failure) {
      return error(Error::OutOfResources,
                   "no thread for the limit run_milliseconds: ", failure.what());
    }
    flag_ = {&cancel_flag_key, &control_->flag(), loading.call_services};
    loading.call_services = &flag_;
    observe(method, *this, {.may_refuse = true});
    return ok();
  }

  [[nodiscard]] const void* find_table(std::string_view id) const noexcept override {
    return id == TENON_EXTENSION_CANCEL_FLAG ? &cancel_flag_table() : nullptr;
  }

  [[nodiscard]] Status after_init(Loading&, DelegateLoad& delegate, Status outcome) override {
    if (!control_ || !outcome.ok()) return outcome;
    if (&delegate.use != asked_) {
      asked_ = &delegate.use;
      const auto table = asked_->backend->extension<tenon_cancel_v1>(TENON_EXTENSION_CANCEL);
      function_ = table ? table->cancel : nullptr;
    }
    if (function_) delegates_.push_back({function_, &delegate.out});
    return outcome;
  }

  [[nodiscard]] bool begin_run(MethodState&) noexcept override { return control_->begin(); }
  [[nodiscard]] Status end_run(MethodState& method, Status outcome) override {
    const bool is_late = control_->end();
    if (outcome.error() != Error::Cancelled || !is_late) return outcome;
    return error(Error::OutOfResources, outcome.text(), " (after the limit run_milliseconds, ",
                 method.options.limits.run_milliseconds, ")");
  }
  void run_over(MethodState&) noexcept override { control_->release(); }

  [[nodiscard]] bool may_begin(MethodState&) noexcept override { return !is_cancelled(); }
  [[nodiscard]] Status refusal(MethodState& method, std::size_t chain, std::size_t index) override {
    // The limit in time may be what cancelled the run.
    auto* const limit = find_part<TimeLimitPart>(method);
    if (limit && !limit->may_begin(method)) return limit->refusal(method, chain, index);
    return error(Error::Cancelled, errors_of(method).where(chain, index),
                 ": the run was cancelled before it");
  }

  /// From any thread.
  void cancel() { control_->cancel(); }
  /// Whether the run that is going on was cancelled. From any thread.
  [[nodiscard]] bool is_cancelled() const noexcept { return control_->is_cancelled(); }
  /// In the load. `listener` must outlive the method's runs.
  void add_listener(CancelListener& listener) { listeners_.push_back(&listener); }

 private:
  using Function = void (*)(tenon_backend*, tenon_delegate*);

  /// A session may replace the delegate's handle between runs.
  struct Cancellable {
    Function cancel;
    const Delegate* delegate;
  };

  void cancel_delegates() {
    for (const Cancellable& each : delegates_) {
      each.cancel(each.delegate->backend, each.delegate->handle);
    }
    for (CancelListener* const listener : listeners_) listener->cancelled();
  }

  Service flag_;
  std::vector<Cancellable> delegates_;
  std::vector<CancelListener*> listeners_;
  const BackendUse* asked_ = nullptr;  // For its "tenon.cancel/1", which has `function_`.
  Function function_ = nullptr;
  std::unique_ptr<RunControl> control_;  // The last member: its thread uses the others.
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
