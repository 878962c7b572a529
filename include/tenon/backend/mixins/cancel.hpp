// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>

#include "tenon/abi/extensions/cancel.h"
#include "tenon/backend/mixin.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// Mixin: a call of `execute` that waits, for a device or for another library, can be ended. The
/// author adds `void cancel(Delegate&) noexcept`, which is called from another thread while a run
/// is going on, at most once in it, and may come before, during and after `execute` of the
/// delegate: it ends what `execute` waits for, and does nothing when there is nothing. `execute`
/// then returns `Cancelled`. It looks at its `CancelFlag` after it has begun what `cancel` can end,
/// since a call may have come before.
///
/// A backend that computes on the CPU itself needs no mixin: it looks at its `CancelFlag`.
template <class Derived>
class WithCancel {};

namespace detail {

template <class B>
concept HasCancel = requires(B& backend, typename B::Delegate& delegate) {
  { backend.cancel(delegate) } noexcept -> std::same_as<void>;
};

template <class B>
struct CancelExtension {
  static consteval bool check() {
    if constexpr (!HasCancel<B>) {
      static_assert(always_false<B>,
                    "tenon: WithCancel needs a public `void cancel(Delegate&) noexcept`");
    }
    return HasCancel<B>;
  }

  static void cancel(tenon_backend* backend, tenon_delegate* delegate) noexcept {
    self<B>(backend).cancel(*reinterpret_cast<typename B::Delegate*>(delegate));
  }

  static constexpr tenon_cancel_v1 table = {sizeof(tenon_cancel_v1), 0, &cancel};
};

template <>
struct MixinOf<tenon_cancel_v1> : Mixin<WithCancel, CancelExtension> {};

}  // namespace detail
}}  // namespace tenon::TENON_RELEASE
