// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "tenon/abi/plugin.h"
#include "tenon/backend/backend.hpp"
#include "tenon/backend/context.hpp"
#include "tenon/backend/mixin.hpp"
#include "tenon/backend/mixins.hpp"
#include "tenon/backend/text_field.hpp"
#include "tenon/core/args.hpp"
#include "tenon/core/compile_specs.hpp"
#include "tenon/core/result.hpp"

/// Checks backend classes when a plugin is compiled: one mistake is one readable error.
namespace tenon { inline namespace TENON_RELEASE { namespace detail {

/// Whether new backends may have this id: it needs no quotes in a shell, in globs (TENON_DISABLE),
/// in BACKEND.KEY=VALUE and in file names. A host reads any other from programs and plugins.
consteval bool is_valid_id(std::string_view id) {
  for (const char c : id) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool is_other = (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
    if (!is_letter && !is_other) return false;
  }
  return is_valid_name(id);
}

template <class B>
concept HasId = requires { typename std::bool_constant<is_valid_id(B::id)>; };

// Fields that may be left out. A field that is present and not constexpr is an error, too.
template <class B>
concept HasValidTags = !requires { B::tags; } || requires {
  typename std::enable_if_t<is_valid_text(B::tags, TENON_TEXT_SIZE)>;
};
template <class B>
concept HasValidDescription = !requires { B::description; } || requires {
  typename std::enable_if_t<is_valid_text(B::description, TENON_TEXT_SIZE)>;
};
template <class B>
concept HasValidCpuFeatures = !requires { B::cpu_features; } || requires {
  typename std::enable_if_t<is_valid_text(B::cpu_features, TENON_FEATURES_SIZE)>;
};

template <class B>
concept HasValidPayloadVersions = !requires { B::payload_versions; } || requires {
  typename std::enable_if_t<(PayloadVersions(B::payload_versions).min <=
                             PayloadVersions(B::payload_versions).max)>;
};

template <class B>
concept HasValidRunsEmbeddedCode = !requires { B::runs_embedded_code; } || requires {
  requires std::same_as<decltype(B::runs_embedded_code), const bool>;
  typename std::bool_constant<B::runs_embedded_code>;
};

template <class B>
concept HasDelegate = requires { typename B::Delegate; } && std::is_object_v<typename B::Delegate>;

template <class B>
concept HasValidDelegate = std::is_move_constructible_v<typename B::Delegate> &&
                           std::is_nothrow_destructible_v<typename B::Delegate>;

template <class B>
concept HasInit = requires(B& backend, InitContext& context, Blob processed, CompileSpecs specs) {
  { backend.init(context, processed, specs) } -> std::same_as<Result<typename B::Delegate>>;
};

template <class B>
concept HasExecute =
    requires(B& backend, ExecutionContext& context, typename B::Delegate& delegate, Args args) {
      { backend.execute(context, delegate, args) } -> std::same_as<Status>;
    };

// A function of the right name and another signature is an error, not an ability that is left out.
template <class B>
concept NamesOpen = requires(B& backend) { backend.open(); } || requires { &B::open; };
template <class B>
concept HasOpen = requires(B& backend) {
  { backend.open() } -> std::same_as<Status>;
};

template <class B>
concept NamesIsAvailable =
    requires(B& backend) { backend.is_available(); } || requires { &B::is_available; };
template <class B>
concept HasIsAvailable = requires(B& backend) {
  { backend.is_available() } -> std::same_as<Status>;
};

/// A table of the author's own, in addition to the tables of mixins.
template <class B>
concept HasFindExtension = requires(std::string_view id) {
  { B::find_extension(id) } noexcept -> std::same_as<const void*>;
};
template <class B>
concept NamesFindExtension = requires { &B::find_extension; };

/// Checks a backend class and stops the compilation with the first mistake alone: each test is
/// reached only when those before it passed.
template <class B>
consteval bool check_backend() {
  if constexpr (!std::is_class_v<B>) {
    static_assert(always_false<B>, "tenon: TENON_PLUGIN takes the names of backend classes");
  } else if constexpr (!std::derived_from<B, Backend<B>>) {
    static_assert(always_false<B>,
                  "tenon: a backend derives publicly and directly from tenon::Backend<itself>; "
                  "backends are final, one cannot derive from another");
  } else if constexpr (!std::is_final_v<B>) {
    static_assert(always_false<B>,
                  "tenon: backends are final: write `class MyBackend final : public ...`");
  } else if constexpr (!HasId<B>) {
    static_assert(always_false<B>,
                  "tenon: the backend has no public "
                  "`static constexpr std::string_view id = \"...\";`");
  } else if constexpr (!is_valid_id(B::id)) {
    static_assert(always_false<B>,
                  "tenon: the backend's id must have 1 to 63 characters of [A-Za-z0-9_.-]");
  } else if constexpr (!HasValidTags<B> || !HasValidDescription<B> || !HasValidCpuFeatures<B>) {
    static_assert(always_false<B>,
                  "tenon: the backend's `tags`, `description` and `cpu_features` must be static "
                  "constexpr text of at most 127 bytes without control characters");
  } else if constexpr (!HasValidPayloadVersions<B>) {
    static_assert(always_false<B>,
                  "tenon: the backend's `payload_versions` must be static constexpr "
                  "tenon::PayloadVersions whose min is not above max");
  } else if constexpr (!HasValidRunsEmbeddedCode<B>) {
    static_assert(always_false<B>,
                  "tenon: the backend's `runs_embedded_code` must be a static constexpr bool");
  } else if constexpr (hides_mixin<B>(BackendExtensions())) {
    static_assert(always_false<B>, "tenon: the backend's mixins must be public bases");
  } else if constexpr (!HasKernelsAlone<B> && !HasDelegate<B>) {
    static_assert(
        always_false<B>,
        "tenon: the backend has no public `struct Delegate`, the state of one loaded blob");
  } else if constexpr (!HasKernelsAlone<B> && !HasValidDelegate<B>) {
    static_assert(
        always_false<B>,
        "tenon: the backend's `Delegate` must be movable, with a destructor that does not "
        "throw");
  } else if constexpr (!HasKernelsAlone<B> && !HasInit<B>) {
    static_assert(always_false<B>,
                  "tenon: the backend has no public `tenon::Result<Delegate> "
                  "init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs)`");
  } else if constexpr (!HasKernelsAlone<B> && !HasExecute<B>) {
    static_assert(always_false<B>,
                  "tenon: the backend has no public `tenon::Status "
                  "execute(tenon::ExecutionContext&, Delegate&, tenon::Args)`");
  } else if constexpr (NamesOpen<B> && !HasOpen<B>) {
    static_assert(always_false<B>, "tenon: the backend's `open` must be `tenon::Status open()`");
  } else if constexpr (NamesIsAvailable<B> && !HasIsAvailable<B>) {
    static_assert(always_false<B>,
                  "tenon: the backend's `is_available` must be `tenon::Status is_available()`: a "
                  "failure says why not");
  } else if constexpr (!std::is_default_constructible_v<B>) {
    static_assert(
        always_false<B>,
        "tenon: the backend needs a public default constructor, and must derive directly "
        "from tenon::Backend<itself> and BackendDetails<itself>: no class may be between");
  } else if constexpr (NamesFindExtension<B> && !HasFindExtension<B>) {
    static_assert(always_false<B>,
                  "tenon: the backend's `find_extension` must be `static const void* "
                  "find_extension(std::string_view) noexcept`");
  } else {
    return check_mixins<B>(BackendExtensions());
  }
  return false;
}

}}}  // namespace tenon::TENON_RELEASE::detail
