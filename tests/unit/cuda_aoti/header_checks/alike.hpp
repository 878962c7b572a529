// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

/// Comparisons of the plugin's declarations, in the namespace `ours`, with CUDA's.
namespace header_checks {

/// True when a value of one type is passed as one of the other: pointers, or numbers of one size.
template <class Ours, class Theirs>
inline constexpr bool is_passed_alike =
    sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>;

template <class Ours, class Theirs>
constexpr bool is_called_alike = false;
template <class OurResult, class TheirResult, class... Ours, class... Theirs>
  requires(sizeof...(Ours) == sizeof...(Theirs))
constexpr bool is_called_alike<OurResult (*)(Ours...), TheirResult (*)(Theirs...)> =
    is_passed_alike<OurResult, TheirResult> && (is_passed_alike<Ours, Theirs> && ...);

}  // namespace header_checks

#define TENON_CHECK_NUMBER(name) \
  static_assert(ours::name == static_cast<std::remove_const_t<decltype(ours::name)>>(::name))
