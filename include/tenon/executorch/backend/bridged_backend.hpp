// SPDX-License-Identifier: MIT
#pragma once

#include <executorch/runtime/backend/backend_option_context.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/platform/runtime.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "tenon/backend/backend.hpp"
#include "tenon/backend/mixins/options.hpp"
#include "tenon/core/args.hpp"
#include "tenon/core/result.hpp"
#include "tenon/executorch/backend/allocator.hpp"
#include "tenon/executorch/backend/bridged_call.hpp"
#include "tenon/executorch/backend/bridged_delegate.hpp"
#include "tenon/executorch/backend/libraries.hpp"
#include "tenon/executorch/backend/platform_hook.hpp"
#include "tenon/executorch/error.hpp"
#include "tenon/executorch/layout_probe.hpp"
#include "tenon/executorch/options.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace bridge {

namespace detail {

/// Replaces the mixin for a description without options.
template <class>
struct NoOptions {};

template <class About>
concept HasInterface = requires { typename About::Interface; } &&
                       std::derived_from<typename About::Interface, et::BackendInterface> &&
                       std::default_initializable<typename About::Interface>;

template <class About>
concept HasOptions = requires { About::options; };

/// Whether ExecuTorch can hold every declared option: its type and its size.
template <class About>
consteval bool has_good_options() {
  for (const OptionSpec& option : About::options) {
    if (std::string_view(option.key).size() >= et::kMaxOptionKeyLength) return false;
    const std::uint32_t type = option.initial.type();
    if (type == TENON_OPTION_DOUBLE || type == TENON_OPTION_BYTES) return false;
  }
  return true;
}

}  // namespace detail

/// A backend of ExecuTorch's as a backend of Tenon's. `About` describes it:
///
///     struct Xnnpack {
///       static constexpr std::string_view id = "XnnpackBackend";  // the name in programs
///       // Either: the class itself, of which each `open` makes one object.
///       using Interface = MyBackend;
///       // Or none, when it registers itself with ExecuTorch.
///       // Libraries that register it, loaded in `open` from the directory of ExecuTorch.
///       // Linked ones would be loaded with the plugin, before anybody asked.
///       static constexpr std::array libraries{tenon::bridge::RegisteringLibrary{
///           "libexecutorch_backend_xnnpack.so", "XnnpackBackend"}};
///       // Options that it takes; a backend of ExecuTorch's does not say them itself. A
///       // host refuses all other options. Types: bool, int of 32 bits, text of at most 255 bytes.
///       static constexpr std::array options{tenon::OptionSpec{...}};
///     };
///
/// and may have `description`, `tags`, `cpu_features`, `priority` and `payload_versions`, as any
/// backend. See TENON_EXECUTORCH_BACKEND.
///
/// Limits: a tensor whose data pointer `execute` replaces is an error, intermediate values are not
/// passed to tracers, and lines that ExecuTorch logs on threads of its own are not redirected. A
/// check of ExecuTorch's that fails (ET_CHECK) is an `Internal` and does not end the process.
template <class About>
class BridgedBackend final
    : public Backend<BridgedBackend<About>>,
      public About,
      public std::conditional_t<detail::HasOptions<About>, WithOptions<BridgedBackend<About>>,
                                detail::NoOptions<About>> {
 public:
  struct Delegate {
    std::unique_ptr<detail::BridgedDelegate> bridged;
  };

  Status open() {
    TENON_RETURN_IF_ERROR(check_runtime());
    platform_.emplace();
    detail::BridgedCall call(host());
    return call.run("open", [&]() -> Status {
      et::runtime_init();
      TENON_RETURN_IF_ERROR(
          call.run_unthrown([&] { return detail::load_libraries<About>(host()); }));
      return find_backend();
    });
  }

  Status is_available() {
    detail::BridgedCall call(host());
    return call.run("is_available", [&]() -> Status {
      if (backend_->is_available()) return ok();
      if (!call.errors().empty()) return call.failure(Error::NotFound, "is_available");
      return error(Error::NotFound,
                   "is_available: the backend is not available and gives no reason");
    });
  }

  Result<Delegate> init(InitContext& context, Blob, CompileSpecs) {
    auto bridged = std::make_unique<detail::BridgedDelegate>(
        host(), *backend_, allocators_.find(context.raw().runtime_allocator));
    TENON_RETURN_IF_ERROR(bridged->init(context.raw()));
    return Delegate{std::move(bridged)};
  }

  Status execute(ExecutionContext& context, Delegate& delegate, Args args) {
    return delegate.bridged->execute(context.raw(), args.raw());
  }

  /// Hands an option of the whole backend on.
  Status on_set_option(std::string_view key, const OptionView& value)
    requires detail::HasOptions<About>
  {
    TENON_TRY(auto option, detail::to_backend_option(key, value));
    detail::BridgedCall call(host());
    return call.run("set_option", [&]() -> Status {
      et::BackendOptionContext context;
      const et::Error set = backend_->set_option(context, {&option, 1});
      return set == et::Error::Ok ? ok() : call.failure(set, "set_option");
    });
  }

  /// The value that the backend itself reports, or else the value that was set last or declared.
  Result<OptionValue> get_option(std::string_view key)
    requires detail::HasOptions<About>
  {
    TENON_TRY(const OptionValue set, WithOptions<BridgedBackend>::get_option(key));
    TENON_TRY(auto option, detail::to_backend_option(key, set));
    detail::BridgedCall call(host());
    TENON_RETURN_IF_ERROR(call.run("get_option", [&]() -> Status {
      et::BackendOptionContext context;
      et::Span<et::BackendOption> asked(&option, 1);
      const et::Error outcome = backend_->get_option(context, asked);
      return outcome == et::Error::Ok ? ok() : call.failure(outcome, "get_option");
    }));
    OptionValue value = detail::from_backend_option(option);
    if (value.type() == set.type()) return value;
    return error(Error::InvalidType, "option '", key, "' is declared as ",
                 option_type_name(set.type()), ", the backend returns a ",
                 option_type_name(value.type()));
  }

 private:
  const tenon_host* host() const noexcept { return Backend<BridgedBackend>::host().raw(); }

  Status find_backend() {
    if constexpr (detail::HasInterface<About>) {
      backend_ = &own_.emplace();
      return ok();
    } else {
      TENON_TRY(backend_, detail::find_registered(About::id));
      return ok();
    }
  }

  template <class T, bool = detail::HasInterface<T>>
  struct Own {
    using Type = std::optional<typename T::Interface>;
  };
  template <class T>
  struct Own<T, false> {
    using Type = std::monostate;
  };

  // Destroyed last: the backend may log when it is destroyed.
  std::optional<detail::PlatformUse> platform_;
  detail::RuntimeAllocators allocators_;
  typename Own<About>::Type own_;
  et::BackendInterface* backend_ = nullptr;
};

}}}  // namespace tenon::TENON_RELEASE::bridge
