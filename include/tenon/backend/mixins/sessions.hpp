// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "tenon/abi/extensions/sessions.h"
#include "tenon/backend/context.hpp"
#include "tenon/backend/mixin.hpp"
#include "tenon/backend/mixins/options.hpp"
#include "tenon/core/application/scheduling.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/struct_size.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// An application's wishes for one session. Valid until `create_session` returns.
template <class Delegate>
class SessionContext {
 public:
  explicit SessionContext(const tenon_session_context& context) noexcept : context_(&context) {}

  /// The delegate whose state the session begins with; null for the state that `init` gave. It does
  /// not run, and may be destroyed before the session.
  [[nodiscard]] const Delegate* state() const noexcept {
    return reinterpret_cast<const Delegate*>(context_->state);
  }

  /// Memory that is valid as long as the session.
  [[nodiscard]] Allocator runtime_allocator() const noexcept {
    return Allocator(context_->runtime_allocator);
  }

  /// The options given for this session, which the SDK has checked. Options that are not given have
  /// the values of the load: `WithOptions::option_values(context, loaded)` has both.
  [[nodiscard]] std::size_t num_runtime_specs() const noexcept {
    return context_->num_runtime_specs;
  }
  [[nodiscard]] const tenon_option& runtime_spec(std::size_t index) const noexcept {
    return detail::StridedArray<tenon_option>(context_->runtime_specs,
                                              context_->num_runtime_specs)[index];
  }

  /// NotSupported when an option is given: for a backend that can change none for a session.
  [[nodiscard]] Status expect_no_options() const {
    if (num_runtime_specs() == 0) return ok();
    return error(Error::NotSupported, "option '", std::string_view(runtime_spec(0).key),
                 "' cannot be changed for a session");
  }

  /// The application's hints for the session, or nothing: the delegate's hints hold.
  [[nodiscard]] std::optional<Scheduling> scheduling() const noexcept {
    if (!context_->scheduling) return std::nullopt;
    return detail::to_scheduling(context_->scheduling);
  }

  [[nodiscard]] const tenon_session_context& raw() const noexcept { return *context_; }

 private:
  const tenon_session_context* context_;
};

/// Mixin: several independent states over one loaded blob. The author adds
/// `Result<Delegate> create_session(const Delegate&)`: a delegate in the state after `init`, which
/// shares constant data with the given one. It may be called while the given one runs, and its
/// result is destroyed before that one.
///
/// A backend that can copy a state, or takes options or hints for a session, adds
/// `Result<Delegate> create_session(const Delegate&, const SessionContext<Delegate>&)` in its
/// place. It begins with the state of `context.state()`, or fails with NotSupported when that is
/// not null and cannot be copied; and it refuses options that it cannot change for a session with
/// NotSupported. Without that form the SDK refuses both.
template <class Derived>
class WithSessions {};

namespace detail {

template <class B>
concept HasSimpleSession = requires(B& backend, const typename B::Delegate& delegate) {
  { backend.create_session(delegate) } -> std::same_as<Result<typename B::Delegate>>;
};
template <class B>
concept HasSessionInContext = requires(B& backend, const typename B::Delegate& delegate,
                                       const SessionContext<typename B::Delegate>& context) {
  { backend.create_session(delegate, context) } -> std::same_as<Result<typename B::Delegate>>;
};

template <class B>
struct SessionsExtension {
  static consteval bool check() {
    constexpr bool has_one = HasSimpleSession<B> || HasSessionInContext<B>;
    if constexpr (!has_one) {
      static_assert(always_false<B>,
                    "tenon: WithSessions needs a public "
                    "`tenon::Result<Delegate> create_session(const Delegate&)`, which may take "
                    "a `const tenon::SessionContext<Delegate>&`, too");
    }
    return has_one;
  }

  static tenon_status create_session(tenon_backend* backend, tenon_delegate* delegate,
                                     const tenon_session_context* context,
                                     tenon_delegate** out) noexcept {
    return guard(host_of<B>(backend), [&]() -> Status {
      using Delegate = typename B::Delegate;
      const SessionContext<Delegate> session_context(*context);
      TENON_RETURN_IF_ERROR(check_runtime_specs<B>(session_context));
      const auto& parent = *reinterpret_cast<const Delegate*>(delegate);
      TENON_TRY(Delegate session, make(self<B>(backend), parent, session_context));
      *out = reinterpret_cast<tenon_delegate*>(new Delegate(std::move(session)));
      return ok();
    });
  }

  static Result<typename B::Delegate> make(B& backend, const typename B::Delegate& parent,
                                           const SessionContext<typename B::Delegate>& context) {
    if constexpr (HasSessionInContext<B>) {
      return backend.create_session(parent, context);
    } else {
      if (context.state()) {
        return error(Error::NotSupported, "backend ", B::id, " cannot copy a state to a session");
      }
      TENON_RETURN_IF_ERROR(context.expect_no_options());
      return backend.create_session(parent);
    }
  }

  static constexpr tenon_sessions_v1 table = {sizeof(tenon_sessions_v1), 0, &create_session};
};

template <>
struct MixinOf<tenon_sessions_v1> : Mixin<WithSessions, SessionsExtension> {};

}  // namespace detail
}}  // namespace tenon::TENON_RELEASE
