// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "tenon/abi/plugin.h"
#include "tenon/backend/context.hpp"
#include "tenon/backend/host_services.hpp"
#include "tenon/core/args.hpp"
#include "tenon/core/compile_specs.hpp"
#include "tenon/core/result.hpp"

namespace tenon {

namespace detail {
template <class Derived>
struct Trampolines;
}

/// Base of every backend. The author derives a final class from `Backend<itself>` and gives it:
///
///     static constexpr std::string_view id = "AcmeNpu";     // the string that programs name
///     struct Delegate { ... };                               // one loaded blob; its destructor
///                                                            // is `destroy`
///     Result<Delegate> init(InitContext&, Blob, CompileSpecs);
///     Status execute(ExecutionContext&, Delegate&, Args);
///
/// and may give it, detected by name:
///
///     static constexpr std::string_view tags = "experimental,cpu";
///     static constexpr std::string_view description = "one line";
///     static constexpr PayloadVersions payload_versions = {1, 3};
///     static constexpr std::string_view cpu_features = "avx2,fma";
///     static constexpr std::int32_t priority = 10;
///     Status open();            // once, when a host takes the backend; must not touch a device
///     Status is_available();    // a failure says why not
///
/// Further abilities are mixins beside this base (`WithOptions`, `WithCheckBlob`, ...). There is
/// one object for each host that opened the plugin; it lives from `open` to `close`.
///
/// Threads: `init` may run at the same time as anything else on the same object; `execute` never
/// twice at once on one delegate, but on different ones. Exceptions are caught and become
/// `Internal`
/// (`MemoryAllocationFailed` for std::bad_alloc).
template <class Derived>
class Backend {
 public:
  /// The host that opened this backend. Not to be used in the constructor.
  [[nodiscard]] const HostServices& host() const noexcept { return host_; }

 protected:
  Backend() = default;
  ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

 private:
  friend struct detail::Trampolines<Derived>;
  HostServices host_;
};

/// Payload versions that `init` accepts, both ends included.
struct PayloadVersions {
  std::uint32_t min = 0;
  std::uint32_t max = 0;
};

namespace detail {

template <class>
inline constexpr bool always_false = false;

template <class B>
concept HasId = requires {
  { B::id } -> std::convertible_to<std::string_view>;
};

template <class B>
concept HasDelegate = requires {
  typename B::Delegate;
}
&&std::is_object_v<typename B::Delegate>;

template <class B>
concept HasInit = requires(B& backend, InitContext& context, Blob processed, CompileSpecs specs) {
  { backend.init(context, processed, specs) } -> std::same_as<Result<typename B::Delegate>>;
};

template <class B>
concept HasExecute = requires(B& backend, ExecutionContext& context, typename B::Delegate& delegate,
                              Args args) {
  { backend.execute(context, delegate, args) } -> std::same_as<Status>;
};

template <class B>
concept NamesOpen = requires(B& backend) {
  backend.open();
}
|| requires { &B::open; };
template <class B>
concept HasOpen = requires(B& backend) {
  { backend.open() } -> std::same_as<Status>;
};

template <class B>
concept NamesIsAvailable = requires(B& backend) {
  backend.is_available();
}
|| requires { &B::is_available; };
template <class B>
concept HasIsAvailable = requires(B& backend) {
  { backend.is_available() } -> std::same_as<Status>;
};

consteval bool is_good_id(std::string_view id) {
  if (id.empty() || id.size() >= TENON_ID_SIZE) return false;
  for (const char c : id) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  return true;
}

/// Judges a backend class and stops the compilation with the first thing that is wrong, and nothing
/// else: each test is only reached when those before it passed.
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
  } else if constexpr (!is_good_id(B::id)) {
    static_assert(always_false<B>,
                  "tenon: the backend's id must have 1 to 63 bytes and no control characters");
  } else if constexpr (!HasDelegate<B>) {
    static_assert(
        always_false<B>,
        "tenon: the backend has no public `struct Delegate`, the state of one loaded blob");
  } else if constexpr (!std::is_move_constructible_v<typename B::Delegate> ||
                       !std::is_nothrow_destructible_v<typename B::Delegate>) {
    static_assert(
        always_false<B>,
        "tenon: the backend's `Delegate` must be movable, with a destructor that does not "
        "throw");
  } else if constexpr (!HasInit<B>) {
    static_assert(always_false<B>,
                  "tenon: the backend has no public `tenon::Result<Delegate> "
                  "init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs)`");
  } else if constexpr (!HasExecute<B>) {
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
    static_assert(always_false<B>, "tenon: the backend needs a public default constructor");
  } else {
    return true;
  }
  return false;
}

}  // namespace detail
}  // namespace tenon
