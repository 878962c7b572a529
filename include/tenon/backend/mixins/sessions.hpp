// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <string_view>
#include <utility>

#include "tenon/abi/extensions/sessions.h"
#include "tenon/backend/mixin.hpp"
#include "tenon/core/result.hpp"

namespace tenon::inline TENON_RELEASE {

/// Mixin: several independent states over one loaded blob. The author adds
/// `Result<Delegate> create_session(const Delegate&)`: a delegate in the state after `init`, which
/// shares constant data with the given one. It may be called while the given one runs, and its
/// result is destroyed before that one.
template <class Derived>
class WithSessions {};

namespace detail {

template <class B>
concept HasCreateSession = requires(B& backend, const typename B::Delegate& delegate) {
  { backend.create_session(delegate) } -> std::same_as<Result<typename B::Delegate>>;
};

template <class B>
struct SessionsExtension {
  static constexpr std::string_view id = TENON_EXTENSION_SESSIONS;

  static consteval bool check() {
    if constexpr (!HasCreateSession<B>) {
      static_assert(always_false<B>,
                    "tenon: WithSessions needs a public "
                    "`tenon::Result<Delegate> create_session(const Delegate&)`");
    }
    return HasCreateSession<B>;
  }

  static tenon_status create_session(tenon_backend* backend, tenon_delegate* delegate,
                                     tenon_delegate** out) noexcept {
    return guard(host_of<B>(backend), [&]() -> Status {
      using Delegate = typename B::Delegate;
      TENON_TRY(Delegate session,
                self<B>(backend).create_session(*reinterpret_cast<const Delegate*>(delegate)));
      *out = reinterpret_cast<tenon_delegate*>(new Delegate(std::move(session)));
      return ok();
    });
  }

  static constexpr tenon_sessions_v1 table = {sizeof(tenon_sessions_v1), 0, &create_session};
};

template <>
struct MixinOf<tenon_sessions_v1> : Mixin<WithSessions, SessionsExtension> {};

}  // namespace detail
}  // namespace tenon::inline TENON_RELEASE
