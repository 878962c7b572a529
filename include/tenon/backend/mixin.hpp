// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <string_view>
#include <type_traits>

#include "tenon/abi/backend.h"
#include "tenon/backend/backend.hpp"
#include "tenon/backend/guard.hpp"
#include "tenon/core/extensions.hpp"

/// How a mixin is made: in one header, which has
///
///     template <class Derived>
///     class WithSessions {};              // what authors derive from, with the documentation
///
///     template <class B>
///     struct SessionsExtension {          // the extension of the boundary for one backend class
///       static consteval bool check();    // one static_assert for the first mistake, or true
///       static tenon_status create_session(...) noexcept;
///       static constexpr tenon_sessions_v1 table = {...};
///     };
///
///     template <>
///     struct MixinOf<tenon_sessions_v1> : Mixin<WithSessions, SessionsExtension> {};
///
/// Its table is described in tenon/core/extensions.hpp. Its header is included by
/// tenon/backend/mixins.hpp, or by a higher layer.
namespace tenon { inline namespace TENON_RELEASE { namespace detail {

/// The mixin that makes `Table`. Undefined where its header is not included: no backend there
/// derives from it.
template <class Table>
struct MixinOf;

template <template <class> class BaseOf, template <class> class ExtensionOf>
struct Mixin {
  template <class B>
  using Base = BaseOf<B>;
  template <class B>
  using Extension = ExtensionOf<B>;
};

template <class B, class Table>
using MixinBase = typename MixinOf<Table>::template Base<B>;

/// Whether the backend has the mixin that makes `Table`.
template <class B, class Table>
concept HasMixin = std::derived_from<B, MixinBase<B, Table>>;

/// Whether that is a private or protected base, which would not be detected.
template <class B, class Table>
concept HidesMixin = std::is_base_of_v<MixinBase<B, Table>, B> && !HasMixin<B, Table>;

template <class B, class... Tables>
consteval bool hides_mixin(TypeList<Tables...>) {
  return (HidesMixin<B, Tables> || ...);
}

/// The extension that the mixin of `B` makes.
template <class B, class Table>
  requires HasMixin<B, Table>
using ExtensionOf = typename MixinOf<Table>::template Extension<B>;

template <class B, class Table>
consteval bool check_mixin() {
  if constexpr (HasMixin<B, Table>) {
    return ExtensionOf<B, Table>::check();
  } else {
    return true;
  }
}

/// Stops the compilation with the first mistake alone, as `check_backend` does.
template <class B>
consteval bool check_mixins(TypeList<>) {
  return true;
}
template <class B, class Table, class... Rest>
consteval bool check_mixins(TypeList<Table, Rest...>) {
  if constexpr (check_mixin<B, Table>()) {
    return check_mixins<B>(TypeList<Rest...>());
  } else {
    return false;
  }
}

template <class B, class Table>
const void* table_of(std::string_view id) noexcept {
  if constexpr (HasMixin<B, Table>) {
    if (id == BackendExtension<Table>::id) return &ExtensionOf<B, Table>::table;
  }
  return nullptr;
}

/// The table of the extension `id` that a mixin of `B` makes, or null.
template <class B, class... Tables>
const void* find_table(TypeList<Tables...>, std::string_view id) noexcept {
  const void* found = nullptr;
  static_cast<void>(((found = table_of<B, Tables>(id)) || ...));
  return found;
}

template <class>
inline constexpr bool always_false = false;

/// The author's object behind a handle of the boundary.
template <class B>
inline B& self(tenon_backend* backend) noexcept {
  return *reinterpret_cast<B*>(backend);
}

/// The host that opened it.
template <class B>
inline const tenon_host* host_of(tenon_backend* backend) noexcept {
  return static_cast<const Backend<B>&>(self<B>(backend)).host().raw();
}

}}}  // namespace tenon::TENON_RELEASE::detail
