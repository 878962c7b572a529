// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tenon/abi/backend.h"
#include "tenon/core/application/native_handle.hpp"
#include "tenon/host/loader/impl/method/loaded_delegate.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/layer.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// One state of a method, for each of its delegates: the method's own state, or a session's.
struct DelegateStates {
  std::vector<tenon_delegate*> handles;
  /// The streams that the layer streams gave them. Empty: all have their own.
  std::vector<NativeStream> streams;
};

/// The handles that runs execute.
[[nodiscard]] inline std::vector<tenon_delegate*> handles_of(std::span<const Delegate> delegates) {
  std::vector<tenon_delegate*> out;
  for (const Delegate& delegate : delegates) out.push_back(delegate.handle);
  return out;
}

/// Which of its states a method executes. The first session, or the first stream, adds it.
class MethodStates final : public MethodPart {
 public:
  static constexpr char key = 0;

  explicit MethodStates(const MethodState& method)
      : delegates_(method.delegates), own_{handles_of(delegates_), {}} {}

  [[nodiscard]] const void* kind() const noexcept override { return &key; }

  [[nodiscard]] std::span<const Delegate> delegates() const noexcept { return delegates_; }
  [[nodiscard]] DelegateStates& own() noexcept { return own_; }
  [[nodiscard]] DelegateStates& in_use() noexcept { return *in_use_; }

  /// `states` has one for each delegate, and must outlive its use.
  void use(DelegateStates& states) noexcept {
    in_use_ = &states;
    for (std::size_t i = 0; i < delegates_.size(); ++i) {
      delegates_[i].handle = states.handles[i];
    }
  }

 private:
  const std::span<Delegate> delegates_;
  DelegateStates own_;
  DelegateStates* in_use_ = &own_;
};

/// The handles that `init` made, also while runs execute a session.
[[nodiscard]] inline std::vector<tenon_delegate*> own_handles(const MethodState& method) {
  if (MethodStates* const states = find_late_part<MethodStates>(method)) {
    return states->own().handles;
  }
  return handles_of(method.delegates);
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
