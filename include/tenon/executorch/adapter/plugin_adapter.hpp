// SPDX-License-Identifier: MIT
#pragma once

#include <executorch/runtime/backend/interface.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/options.hpp"
#include "tenon/core/result.hpp"
#include "tenon/executorch/adapter/backend_data.hpp"
#include "tenon/executorch/adapter/delegate.hpp"
#include "tenon/executorch/adapter/last_error.hpp"
#include "tenon/executorch/adapter/lent_threads.hpp"
#include "tenon/executorch/adapter/options.hpp"
#include "tenon/executorch/error.hpp"
#include "tenon/executorch/options.hpp"
#include "tenon/host/backend_registry.hpp"
#include "tenon/host/layers/code/embedded_code.hpp"
#include "tenon/host/loader/method/options.hpp"
#include "tenon/host/loader/plugin/backend.hpp"
#include "tenon/host/loader/registry/backend_ref.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace bridge {

/// Receives each failure of an adapted backend, on the thread that ExecuTorch called on; the text
/// names the backend and the stage. Must not throw.
using ErrorSink = std::function<void(const Status&)>;

/// Options of an adapter.
struct AdapterOptions {
  /// Whether native code that programs carry may run. The default is as in Tenon's own host and in
  /// ExecuTorch: a program is trusted like the application.
  host::EmbeddedCodePolicy embedded_code = host::EmbeddedCodePolicy::allow();
  ErrorSink on_error{};    ///< Empty: failures are only in `last_error` and in the log.
  bool log_errors = true;  ///< Whether failures are written to ExecuTorch's log.
  /// Whether plugins compute on ExecuTorch's pool of threads ("tenon.threads/1"), where the process
  /// has one. Otherwise each plugin has threads of its own, or none.
  bool lend_threads = false;
};

/// Makes one backend of a plugin a backend of ExecuTorch. Arguments and results are translated;
/// error numbers pass unchanged, and their text is kept for `last_error`.
///
/// As in ExecuTorch: `init`, `is_available` and the options may be called from any thread;
/// `execute` and `destroy` of one delegate from one at a time, of different ones at the same time.
/// `execute` allocates nothing and locks nothing once a delegate has seen its arguments, unless it
/// fails.
///
/// A value that a delegate is called with again, at the same address and with a tensor at the same
/// address, must be the same tensor: of the same type and rank, and with its sizes in the same
/// memory. The values and tensors of ExecuTorch's `Method` exist as long as it does.
class PluginAdapter final : public adapter::AdaptedInterface<> {
 public:
  /// `registry`, if the backend is from one, is kept as long as the backend.
  PluginAdapter(host::BackendRef backend, std::shared_ptr<const host::BackendRegistry> registry,
                AdapterOptions options)
      : registry_(std::move(registry)),
        backend_(std::move(backend)),
        id_(backend_->id()),
        declared_(backend_->options()),
        options_(std::move(options)) {}

  /// The name by which ExecuTorch finds it. `name` is set when it differs from the backend's id.
  [[nodiscard]] const std::string& id() const noexcept { return id_; }
  void set_id(std::string name) { id_ = std::move(name); }
  [[nodiscard]] const host::BackendRef& backend() const noexcept { return backend_; }

  [[nodiscard]] bool is_available() const override {
    return guard("is_available", [&] { return backend_->is_available(); }) == et::Error::Ok;
  }

  [[nodiscard]] et::Result<et::DelegateHandle*> init(
      et::BackendInitContext& context, et::FreeableBuffer* processed,
      et::ArrayRef<et::CompileSpec> compile_specs) const override {
    et::DelegateHandle* out = nullptr;
    const et::Error failed = guard("init", [&]() -> Status {
      auto delegate = std::make_unique<adapter::AdaptedDelegate>(
          *this, *backend_, context.get_method_name(), threads());
      TENON_RETURN_IF_ERROR(
          delegate->load(context, processed, compile_specs, declared_, options_.embedded_code));
      out = delegate.release();
      return ok();
    });
    if (failed != et::Error::Ok) return failed;
    return out;
  }

  [[nodiscard]] et::Error execute(et::BackendExecutionContext& context, et::DelegateHandle* handle,
                                  et::Span<et::EValue*> args) const override {
    auto& delegate = *static_cast<adapter::AdaptedDelegate*>(handle);
    if (!delegate.is_prepared(args)) [[unlikely]]
      return execute_unprepared(delegate, context, args);
    const tenon_status status = delegate.run(context);
    if (status != TENON_STATUS_OK || delegate.has_resized()) [[unlikely]]
      return finish(delegate, status);
    return et::Error::Ok;
  }

  [[nodiscard]] et::Error set_option(et::BackendOptionContext&,
                                     const et::Span<et::BackendOption>& options) override {
    reached() = this;
    return guard("set_option", [&]() -> Status {
      // All are checked before the first is set. When the plugin itself refuses one, those before
      // it stay set.
      TENON_TRY(const auto values, adapter::read_options(options, backend_->id(), declared_));
      for (const host::BackendOption& one : values) {
        TENON_TRY(const auto* const declaration, host::find_option(declared_, one.key));
        TENON_RETURN_IF_ERROR(declaration->check({one.value.type(), TENON_OPTION_AT_RUNTIME}));
      }
      for (const host::BackendOption& one : values)
        TENON_RETURN_IF_ERROR(backend_->set_option(one.key, one.value));
      return ok();
    });
  }

  [[nodiscard]] et::Error get_option(et::BackendOptionContext&,
                                     et::Span<et::BackendOption>& options) override {
    reached() = this;
    return guard("get_option", [&]() -> Status {
      std::vector<et::BackendOption> found;
      for (const et::BackendOption& option : options) {
        TENON_TRY(const std::string key, adapter::option_key(option));
        TENON_TRY(const OptionValue value, backend_->get_option(key));
        TENON_TRY(const auto held, detail::to_backend_option(key, adapter::to_held(value)));
        found.push_back(held);
      }
      std::copy(found.begin(), found.end(), options.begin());
      return ok();
    });
  }

  void destroy(et::DelegateHandle* handle) const override {
    delete static_cast<adapter::AdaptedDelegate*>(handle);
  }

  /// The adapter whose options ExecuTorch read or wrote last on this thread.
  [[nodiscard]] static const PluginAdapter*& reached() noexcept {
    thread_local const PluginAdapter* adapter = nullptr;
    return adapter;
  }

 private:
  [[nodiscard]] const tenon_thread_pool* threads() const {
    return options_.lend_threads ? adapter::LentThreads::find() : nullptr;
  }

  // What is rare is not inlined, and needs nothing but the delegate, so that `execute` keeps little
  // across the plugin's.
  [[nodiscard, gnu::noinline]] static et::Error execute_unprepared(
      adapter::AdaptedDelegate& delegate, et::BackendExecutionContext& context,
      et::Span<et::EValue*> args) {
    const et::Error failed =
        delegate.adapter().guard("execute", [&] { return delegate.prepare(args); });
    return failed == et::Error::Ok ? finish(delegate, delegate.run(context)) : failed;
  }
  [[nodiscard, gnu::noinline]] static et::Error finish(adapter::AdaptedDelegate& delegate,
                                                       tenon_status status) {
    return delegate.adapter().guard("execute", [&] { return delegate.finish(status); });
  }

  /// Runs `function`, which returns a Status. ExecuTorch is compiled without exceptions.
  template <class Function>
  et::Error guard(std::string_view stage, const Function& function) const noexcept {
    try {
      Status outcome = function();
      if (outcome.ok()) return et::Error::Ok;
      return fail(stage, std::move(outcome));
    } catch (const std::bad_alloc&) {
      return out_of_memory();
    }
  }

  /// Keeps and reports the text of a failure, and returns its number.
  et::Error fail(std::string_view stage, Status failure) const noexcept {
    const et::Error number = to_executorch(failure.error());
    try {
      Status& last = detail::last_failure();
      last = std::move(failure).with_context(concat("backend ", id_, ": ", stage));
      if (options_.log_errors) log_error(last.text());
      if (options_.on_error) options_.on_error(last);
    } catch (const std::bad_alloc&) {
      return out_of_memory();
    }
    return number;
  }

  static et::Error out_of_memory() noexcept {
    clear_last_error();
    log_error("out of memory");
    return et::Error::MemoryAllocationFailed;
  }

  std::shared_ptr<const host::BackendRegistry> registry_;  // Destroyed after the reference to it.
  host::BackendRef backend_;
  std::string id_;
  std::vector<host::OptionDeclaration> declared_;
  AdapterOptions options_;
};

}}}  // namespace tenon::TENON_RELEASE::bridge
