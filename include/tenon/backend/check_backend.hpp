// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tenon/abi/plugin.h"
#include "tenon/backend/backend.hpp"
#include "tenon/backend/context.hpp"
#include "tenon/backend/extensions.hpp"
#include "tenon/backend/options.hpp"
#include "tenon/core/args.hpp"
#include "tenon/core/compile_specs.hpp"
#include "tenon/core/result.hpp"

namespace tenon::aot {
template <class Derived>
class BackendDetails;  // tenon/aot/backend_details.hpp
}
namespace tenon::aoti {
template <class Derived>
class AotiBackend;  // tenon/aoti/aoti_backend.hpp
}

/// Checks backend classes when a plugin is compiled: one mistake is one readable error.
namespace tenon::detail {

template <class>
inline constexpr bool always_false = false;

/// Whether `text` fits a field of `size` bytes with its NUL and has no control characters, as every
/// text of a record must (TN-BIN-7).
consteval bool is_good_text(std::string_view text, std::size_t size) {
  if (text.size() >= size) return false;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  return true;
}

consteval bool is_good_name(std::string_view name) {
  return !name.empty() && is_good_text(name, TENON_ID_SIZE);
}

/// Whether new backends may have this id: it needs no quotes in a shell, in globs (TENON_DISABLE),
/// in BACKEND.KEY=VALUE and in file names. A host reads any other from programs and plugins.
consteval bool is_good_id(std::string_view id) {
  for (const char c : id) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool is_other = (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
    if (!is_letter && !is_other) return false;
  }
  return is_good_name(id);
}

template <class B>
concept HasId = requires { typename std::bool_constant<is_good_id(B::id)>; };

// Fields that may be left out. One that is present and not constexpr is an error, too.
template <class B>
concept HasGoodTags = !requires { B::tags; } || requires {
  typename std::enable_if_t<is_good_text(B::tags, TENON_TEXT_SIZE)>;
};
template <class B>
concept HasGoodDescription = !requires { B::description; } || requires {
  typename std::enable_if_t<is_good_text(B::description, TENON_TEXT_SIZE)>;
};
template <class B>
concept HasGoodCpuFeatures = !requires { B::cpu_features; } || requires {
  typename std::enable_if_t<is_good_text(B::cpu_features, TENON_TEXT_SIZE)>;
};

template <class B>
concept HasGoodPayloadVersions = !requires { B::payload_versions; } || requires {
  typename std::enable_if_t<(PayloadVersions(B::payload_versions).min <=
                             PayloadVersions(B::payload_versions).max)>;
};

template <class B>
concept HasGoodRunsEmbeddedCode = !requires { B::runs_embedded_code; } || requires {
  requires std::same_as<decltype(B::runs_embedded_code), const bool>;
  typename std::bool_constant<B::runs_embedded_code>;
};

/// Whether the class has any of the functions of a delegate. A backend with kernels alone has none.
template <class B>
concept NamesDelegate =
    requires { typename B::Delegate; } || requires { &B::init; } || requires { &B::execute; };
template <class B>
concept HasKernelsAlone = std::is_base_of_v<WithKernels<B>, B> && !NamesDelegate<B>;

template <class B>
concept HasDelegate = requires { typename B::Delegate; } && std::is_object_v<typename B::Delegate>;

template <class B>
concept HasGoodDelegate = std::is_move_constructible_v<typename B::Delegate> &&
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

template <class B>
concept NamesOnSetOption = requires(B& backend, const OptionView& value) {
  backend.on_set_option(std::string_view(), value);
} || requires { &B::on_set_option; };
template <class B>
concept HasOnSetOption = requires(B& backend, const OptionView& value) {
  { backend.on_set_option(std::string_view(), value) } -> std::same_as<Status>;
};

template <class B>
concept DeclaresOptions = requires {
  typename std::bool_constant<(std::size(B::options), true)>;
} && std::same_as<std::remove_cvref_t<decltype(B::options[0])>, OptionSpec>;

template <class B>
concept HasCheckBlob =
    requires(B& backend, InitContext& context, Blob processed, CompileSpecs specs) {
      { backend.check_blob(context, processed, specs) } -> std::same_as<Result<BlobVerdict>>;
    };

template <class B>
concept HasMemoryInfo = requires(B& backend, const typename B::Delegate* delegate) {
  { backend.memory_info(delegate) } -> std::same_as<MemoryInfo>;
};

template <class B>
concept HasCreateSession = requires(B& backend, const typename B::Delegate& delegate) {
  { backend.create_session(delegate) } -> std::same_as<Result<typename B::Delegate>>;
};

template <class B>
concept HasDevices = requires(B& backend) {
  { backend.devices() } -> std::same_as<Result<std::vector<DeviceInfo>>>;
};

template <class B>
concept HasDeviceMemory =
    requires(B& backend, tenon_dl_device device, void* to, const void* from, std::size_t size) {
      { backend.allocate_device(device, size, size) } -> std::same_as<Result<void*>>;
      { backend.free_device(device, to) } noexcept -> std::same_as<void>;
      { backend.copy_to_device(device, to, from, size) } -> std::same_as<Status>;
      { backend.copy_to_host(device, to, from, size) } -> std::same_as<Status>;
    };

template <class B>
concept HasSetStream = requires(B& backend, typename B::Delegate& delegate, void* stream) {
  { backend.set_stream(delegate, stream) } -> std::same_as<Status>;
};

template <class B>
concept HasEvent = requires { typename B::Event; } && std::is_object_v<typename B::Event> &&
                   std::is_move_constructible_v<typename B::Event> &&
                   std::is_nothrow_destructible_v<typename B::Event> && requires(B& backend) {
                     { backend.create_event() } -> std::same_as<Result<typename B::Event>>;
                   };
template <class B>
concept HasStart =
    requires(B& backend, ExecutionContext& context, typename B::Delegate& delegate, Args args) {
      { backend.start(context, delegate, args) } -> std::same_as<Status>;
    };
template <class B>
concept HasEventFunctions =
    requires(B& backend, typename B::Delegate& delegate, typename B::Event& event) {
      { backend.record_event(delegate, event) } -> std::same_as<Status>;
      { backend.wait_event(event) } -> std::same_as<Status>;
      { backend.query_event(event) } -> std::same_as<Result<bool>>;
      { backend.wait_on_event(delegate, event) } -> std::same_as<Status>;
    };

/// Whether the events have native handles, or any part of them.
template <class B>
concept NamesEventHandles =
    requires { B::event_kind; } || requires { &B::export_event; } || requires { &B::import_event; };
template <class B>
concept HasEventHandles = requires(B& backend, typename B::Event& event, void* handle) {
  typename std::enable_if_t<is_good_name(std::string_view(B::event_kind))>;
  requires std::same_as<std::remove_cv_t<decltype(B::event_kind)>, const char*>;
  { backend.export_event(event) } -> std::same_as<Result<void*>>;
  { backend.import_event(handle) } -> std::same_as<Result<typename B::Event>>;
};

template <class B>
concept HasKernel = requires { typename B::Kernel; } && std::is_object_v<typename B::Kernel> &&
                    std::is_move_constructible_v<typename B::Kernel> &&
                    std::is_nothrow_destructible_v<typename B::Kernel> &&
                    requires(typename B::Kernel& kernel, ExecutionContext& context, Args args) {
                      { kernel.run(context, args) } -> std::same_as<Status>;
                    };
template <class B>
concept HasCreateKernel = requires(B& backend, std::string_view op, Args args) {
  { backend.create_kernel(op, args) } -> std::same_as<Result<typename B::Kernel>>;
};

/// Whether the names are not empty and differ.
consteval bool are_good_operators(const auto& operators) {
  for (std::size_t i = 0; i < std::size(operators); ++i) {
    if (std::string_view(operators[i]).empty()) return false;
    for (std::size_t j = 0; j < i; ++j) {
      if (std::string_view(operators[i]) == std::string_view(operators[j])) return false;
    }
  }
  return true;
}
template <class B>
concept DeclaresOperators = requires { B::operators; };
template <class B>
concept HasGoodOperators =
    requires { typename std::enable_if_t<are_good_operators(B::operators)>; };
template <class B>
concept HasListOperators = requires(B& backend) {
  { backend.list_operators() } -> std::same_as<Result<std::vector<std::string>>>;
};

/// A table of the author's own, in addition to those of mixins.
template <class B>
concept HasExtension = requires(std::string_view id) {
  { B::find_extension(id) } noexcept -> std::same_as<const void*>;
};
template <class B>
concept NamesExtension = requires { &B::find_extension; };

template <class B, template <class> class Mixin>
concept HasMixin = std::derived_from<B, Mixin<B>>;

/// True when `Mixin` is a private or protected base, which would not be detected.
template <class B, template <class> class Mixin>
concept HidesMixin = std::is_base_of_v<Mixin<B>, B> && !HasMixin<B, Mixin>;

/// The requirements of the mixin for models of AOTInductor. They come before those on `init`, which
/// uses them.
template <class B>
consteval bool check_aoti_backend() {
  if constexpr (HasMixin<B, aoti::AotiBackend>) {
    return aoti::AotiBackend<B>::check_plug_points();
  } else {
    return true;
  }
}

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
  } else if constexpr (!is_good_id(B::id)) {
    static_assert(always_false<B>,
                  "tenon: the backend's id must have 1 to 63 characters of [A-Za-z0-9_.-]");
  } else if constexpr (!HasGoodTags<B> || !HasGoodDescription<B> || !HasGoodCpuFeatures<B>) {
    static_assert(always_false<B>,
                  "tenon: the backend's `tags`, `description` and `cpu_features` must be static "
                  "constexpr text of at most 127 bytes without control characters");
  } else if constexpr (!HasGoodPayloadVersions<B>) {
    static_assert(always_false<B>,
                  "tenon: the backend's `payload_versions` must be static constexpr "
                  "tenon::PayloadVersions whose min is not above max");
  } else if constexpr (!HasGoodRunsEmbeddedCode<B>) {
    static_assert(always_false<B>,
                  "tenon: the backend's `runs_embedded_code` must be a static constexpr bool");
  } else if constexpr (HidesMixin<B, aoti::AotiBackend>) {
    static_assert(always_false<B>, "tenon: the backend's mixins must be public bases");
  } else if constexpr (!check_aoti_backend<B>()) {
    return false;  // Which has said why.
  } else if constexpr (!HasKernelsAlone<B> && !HasDelegate<B>) {
    static_assert(
        always_false<B>,
        "tenon: the backend has no public `struct Delegate`, the state of one loaded blob");
  } else if constexpr (!HasKernelsAlone<B> && !HasGoodDelegate<B>) {
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
  } else if constexpr (HidesMixin<B, WithOptions> || HidesMixin<B, WithCheckBlob> ||
                       HidesMixin<B, WithMemoryInfo> || HidesMixin<B, WithSessions> ||
                       HidesMixin<B, WithDevices> || HidesMixin<B, WithDeviceMemory> ||
                       HidesMixin<B, WithStreams> || HidesMixin<B, WithEvents> ||
                       HidesMixin<B, WithKernels> || HidesMixin<B, aot::BackendDetails>) {
    static_assert(always_false<B>, "tenon: the backend's mixins must be public bases");
  } else if constexpr (HasMixin<B, WithOptions> && !DeclaresOptions<B>) {
    static_assert(always_false<B>,
                  "tenon: WithOptions needs a public "
                  "`static constexpr std::array options{tenon::OptionSpec{...}};`");
  } else if constexpr (HasMixin<B, WithOptions> && NamesOnSetOption<B> && !HasOnSetOption<B>) {
    static_assert(always_false<B>,
                  "tenon: the backend's `on_set_option` must be `tenon::Status "
                  "on_set_option(std::string_view, const tenon::OptionView&)`");
  } else if constexpr (HasMixin<B, WithCheckBlob> && !HasCheckBlob<B>) {
    static_assert(always_false<B>,
                  "tenon: WithCheckBlob needs a public `tenon::Result<tenon::BlobVerdict> "
                  "check_blob(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs)`");
  } else if constexpr (HasMixin<B, WithMemoryInfo> && !HasMemoryInfo<B>) {
    static_assert(always_false<B>,
                  "tenon: WithMemoryInfo needs a public "
                  "`tenon::MemoryInfo memory_info(const Delegate*)`");
  } else if constexpr (HasMixin<B, WithSessions> && !HasCreateSession<B>) {
    static_assert(always_false<B>,
                  "tenon: WithSessions needs a public "
                  "`tenon::Result<Delegate> create_session(const Delegate&)`");
  } else if constexpr (HasMixin<B, WithDevices> && !HasDevices<B>) {
    static_assert(always_false<B>,
                  "tenon: WithDevices needs a public "
                  "`tenon::Result<std::vector<tenon::DeviceInfo>> devices()`");
  } else if constexpr (HasMixin<B, WithDeviceMemory> && !HasMixin<B, WithDevices>) {
    static_assert(always_false<B>,
                  "tenon: WithDeviceMemory needs WithDevices, which lists the devices that have "
                  "the memory");
  } else if constexpr (HasMixin<B, WithDeviceMemory> && !HasDeviceMemory<B>) {
    static_assert(
        always_false<B>,
        "tenon: WithDeviceMemory needs a public `tenon::Result<void*> "
        "allocate_device(tenon_dl_device, std::size_t, std::size_t)`, `void "
        "free_device(tenon_dl_device, void*) noexcept`, `tenon::Status "
        "copy_to_device(tenon_dl_device, void*, const void*, std::size_t)` and `copy_to_host` like "
        "it");
  } else if constexpr (HasMixin<B, WithStreams> && !HasSetStream<B>) {
    static_assert(always_false<B>,
                  "tenon: WithStreams needs a public "
                  "`tenon::Status set_stream(Delegate&, void*)`");
  } else if constexpr (HasMixin<B, WithEvents> && HasKernelsAlone<B>) {
    static_assert(always_false<B>,
                  "tenon: WithEvents needs a `Delegate`, `init` and `execute`; kernels alone have "
                  "no events");
  } else if constexpr (HasMixin<B, WithEvents> && !HasEvent<B>) {
    static_assert(
        always_false<B>,
        "tenon: WithEvents needs a public `struct Event`, movable, with a destructor that "
        "does not throw, and `tenon::Result<Event> create_event()`");
  } else if constexpr (HasMixin<B, WithEvents> && !HasStart<B>) {
    static_assert(always_false<B>,
                  "tenon: WithEvents needs a public `tenon::Status "
                  "start(tenon::ExecutionContext&, Delegate&, tenon::Args)`");
  } else if constexpr (HasMixin<B, WithEvents> && !HasEventFunctions<B>) {
    static_assert(
        always_false<B>,
        "tenon: WithEvents needs a public `tenon::Status record_event(Delegate&, Event&)`, "
        "`tenon::Status wait_event(Event&)`, `tenon::Result<bool> query_event(Event&)` and "
        "`tenon::Status wait_on_event(Delegate&, Event&)`");
  } else if constexpr (HasMixin<B, WithEvents> && NamesEventHandles<B> && !HasEventHandles<B>) {
    static_assert(
        always_false<B>,
        "tenon: native handles of events need a public `static constexpr const char* event_kind`, "
        "`tenon::Result<void*> export_event(Event&)` and `tenon::Result<Event> "
        "import_event(void*)`, all three");
  } else if constexpr (HasMixin<B, WithKernels> && !HasKernel<B>) {
    static_assert(
        always_false<B>,
        "tenon: WithKernels needs a public `struct Kernel`, movable, with a public "
        "`tenon::Status run(tenon::ExecutionContext&, tenon::Args)` and a destructor that "
        "does not throw");
  } else if constexpr (HasMixin<B, WithKernels> && !HasCreateKernel<B>) {
    static_assert(always_false<B>,
                  "tenon: WithKernels needs a public `tenon::Result<Kernel> "
                  "create_kernel(std::string_view, tenon::Args)`");
  } else if constexpr (HasMixin<B, WithKernels> && DeclaresOperators<B> && !HasGoodOperators<B>) {
    static_assert(always_false<B>,
                  "tenon: the backend's `operators` must be a static constexpr array of "
                  "std::string_view, of names that are not empty and differ");
  } else if constexpr (HasMixin<B, WithKernels> && DeclaresOperators<B> == HasListOperators<B>) {
    static_assert(always_false<B>,
                  "tenon: WithKernels needs a public `static constexpr std::array operators` of "
                  "std::string_view, or `tenon::Result<std::vector<std::string>> "
                  "list_operators()`, one of both");
  } else if constexpr (NamesExtension<B> && !HasExtension<B>) {
    static_assert(always_false<B>,
                  "tenon: the backend's `find_extension` must be `static const void* "
                  "find_extension(std::string_view) noexcept`");
  } else if constexpr (HasMixin<B, aot::BackendDetails>) {
    return aot::BackendDetails<B>::check_extension();
  } else {
    return true;
  }
  return false;
}

}  // namespace tenon::detail
