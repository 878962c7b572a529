// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>

#include "tenon/abi/extensions/scheduling.h"
#include "tenon/backend/mixin.hpp"
#include "tenon/core/application/scheduling.hpp"
#include "tenon/core/status.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// Uses of each hint by a backend, for people to read; null for a hint that it does not follow.
struct SchedulingUse {
  const char* priority = nullptr;
  const char* goal = nullptr;
  const char* power = nullptr;
};

/// Mixin: the backend follows hints of the application about importance, goal and power, which
/// `init` reads by `context.scheduling()`. The author adds
///
///     static constexpr tenon::SchedulingUse scheduling_use{.priority = "streams of that
///     priority"};
///
/// which `tenon-inspect` shows, and, if a loaded delegate can change,
/// `Status set_scheduling(Delegate&, const Scheduling&)`, never called while the delegate runs: it
/// holds for later runs. A failure changes nothing.
template <class Derived>
class WithScheduling {};

namespace detail {

template <class B>
concept HasSchedulingUse = requires {
  { B::scheduling_use } -> std::convertible_to<const SchedulingUse&>;
};
template <class B>
concept HasSetScheduling =
    requires(B& backend, typename B::Delegate& delegate, const Scheduling& scheduling) {
      { backend.set_scheduling(delegate, scheduling) } -> std::same_as<Status>;
    };
/// A function of that name, which has to be the one above.
template <class B>
concept NamesSetScheduling = requires { &B::set_scheduling; };

template <class B>
struct SchedulingExtension {
  static consteval bool check() {
    if constexpr (!HasSchedulingUse<B>) {
      static_assert(always_false<B>,
                    "tenon: WithScheduling needs a public `static constexpr tenon::SchedulingUse "
                    "scheduling_use`");
      return false;
    } else if constexpr (NamesSetScheduling<B> && !HasSetScheduling<B>) {
      static_assert(always_false<B>,
                    "tenon: WithScheduling's set_scheduling has to be a public "
                    "`tenon::Status set_scheduling(Delegate&, const tenon::Scheduling&)`");
      return false;
    } else {
      return true;
    }
  }

  static tenon_status set_scheduling(tenon_backend* backend, tenon_delegate* delegate,
                                     const tenon_scheduling* scheduling) noexcept {
    return guard(host_of<B>(backend), [&] {
      return self<B>(backend).set_scheduling(*reinterpret_cast<typename B::Delegate*>(delegate),
                                             to_scheduling(scheduling));
    });
  }

  static constexpr tenon_scheduling_v1 make_table() {
    tenon_scheduling_v1 out{sizeof(tenon_scheduling_v1), 0, nullptr, nullptr, nullptr, nullptr};
    if constexpr (HasSchedulingUse<B>) {
      const SchedulingUse use = B::scheduling_use;
      out.priority = use.priority;
      out.goal = use.goal;
      out.power = use.power;
    }
    if constexpr (HasSetScheduling<B>) out.set_scheduling = &set_scheduling;
    return out;
  }

  static constexpr tenon_scheduling_v1 table = make_table();
};

template <>
struct MixinOf<tenon_scheduling_v1> : Mixin<WithScheduling, SchedulingExtension> {};

}  // namespace detail
}}  // namespace tenon::TENON_RELEASE
