// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "case_recorder.hpp"
#include "findings_log.hpp"
#include "kit/boundary/observed_roles.hpp"
#include "kit/boundary/watched_backend.hpp"
#include "settings.hpp"
#include "tenon/abi/backend.h"
#include "tenon/backend/wrapping_plugin.hpp"
#include "tenon/conformance/boundary.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/plugin/backend_api.hpp"
#include "wrapped_plugin.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// One backend of the wrapped plugin, opened for one host, which gets its address.
class ProxiedBackend : public Boundary {
 public:
  /// Opens table `index`. errors: NotSupported for a plugin that cannot be wrapped; the status of
  /// the plugin's `open`, which has set the last error of the host.
  static tenon_status open(const ProxyObject& object, std::size_t index, const tenon_host* host,
                           tenon_backend** out) {
    if (const Status known = tenon::detail::check_host(host, "this proxy"); !known.ok()) {
      return tenon::detail::report(host, known);
    }
    auto made = make(object, index, host);
    if (!made.ok()) return tenon::detail::report(host, made.error(), made.text());
    const tenon_status status = (*made)->api().open(host, out);
    if (status != TENON_STATUS_OK) return (*made)->judge(status, (*made)->log_.count());
    (void)made->release();
    return TENON_STATUS_OK;
  }

  /// As above, for the object in this file. Defined with it.
  template <std::size_t Index>
  static tenon_status open(const tenon_host* host, tenon_backend** out);

  static constexpr std::string_view out_of_memory = "the proxy has no memory for its own records";

  static ProxiedBackend& of(tenon_backend* backend) noexcept {
    return static_cast<ProxiedBackend&>(Boundary::of(backend));
  }

  void close() {
    // The library is closed last, after its backend.
    const std::shared_ptr<WrappedPlugin> plugin = plugin_;
    const std::unique_ptr<ProxiedBackend> self(this);
    api().close(handle());
    log_.log(TENON_LOG_INFO,
             concat("proxy of ", plugin->path(), ": backend ", id_, ": ",
                    watched().watch().num_calls(), " calls, ", log_.count(), " findings"));
  }

  tenon_status init(const tenon_init_context* context, tenon_delegate** out) {
    // The context of a newer host is longer.
    ShownContext shown;
    shown.original = context;
    std::memcpy(&shown.context, context,
                std::min<std::size_t>(context->struct_size, sizeof shown.context));
    shown.context.struct_size = sizeof shown.context;
    return api().init(handle(), &shown.context, out);
  }

  tenon_status is_available() { return api().is_available(handle()); }
  tenon_status execute(tenon_delegate* delegate, const tenon_execution_context* context,
                       tenon_value* const* args, std::uint32_t num_args) {
    return api().execute(handle(), delegate, context, args, num_args);
  }
  void destroy(tenon_delegate* delegate) { api().destroy(handle(), delegate); }
  const void* get_extension(const char* id) { return api().get_extension(handle(), id); }

  [[nodiscard]] const tenon_host* host() const noexcept { return host_; }

 private:
  /// A context of `init` in the size of this header, and the host's context, which answers what the
  /// plugin asks about the call.
  struct ShownContext {
    tenon_init_context context{};
    const tenon_init_context* original = nullptr;
  };

  /// The state of the proxy for each delegate.
  struct Kept {
    explicit Kept(ProxiedBackend& its_backend) : backend(&its_backend) {}
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;
    ~Kept() {
      if (recorder) backend->finish(*recorder, roles);
    }

    ProxiedBackend* backend;
    ObservedRoles roles;
    std::optional<CaseRecorder> recorder;
  };

  ProxiedBackend(std::shared_ptr<WrappedPlugin> plugin, const tenon_backend_api& theirs,
                 std::string id, const tenon_host* host, ProxySettings settings)
      : Boundary(theirs, nullptr, [this](const Finding& finding) { log_.add(finding); }),
        plugin_(std::move(plugin)),
        id_(std::move(id)),
        host_(host),
        settings_(std::move(settings)),
        log_(host, id_, plugin_->path(), settings_.report) {
    watched().watch().share_process(&plugin_->calls());
    watched().watch().watch_process(!settings_.fast);
    watched().watch().watch_streams(!settings_.fast);
    shape().abi_minor = std::min<std::uint16_t>(host->abi_minor, TENON_ABI_MINOR);
    shape().plugin_path = plugin_->path().c_str();
    shape().guard_bytes = !settings_.fast;
    on_init = [this](WatchedInit& call) { return forward_init(call); };
    on_execute = [this](WatchedExecute& call) { return forward_execute(call); };
  }

  static Result<std::unique_ptr<ProxiedBackend>> make(const ProxyObject& object, std::size_t index,
                                                      const tenon_host* host) {
    TENON_TRY(auto plugin, WrappedPlugin::get(object));
    const tenon_backend_api* theirs = plugin->table(index);
    if (!theirs || index >= plugin->record().backends.size()) {
      return error(Error::NotSupported, plugin->path(), ": has no table ", index);
    }
    const std::string& id = plugin->record().backends[index].id;
    TENON_TRY(const tenon_backend_api complete, host::complete_api(*theirs, id));
    std::unique_ptr<ProxiedBackend> out(
        new ProxiedBackend(std::move(plugin), complete, id, host, ProxySettings::of_environment()));
    if (out->api().open) return out;
    return error(Error::NotSupported, "this proxy has ", max_boundaries,
                 " backends open already and supports no more");
  }

  tenon_status forward_init(WatchedInit& call) {
    const auto kept = std::make_shared<Kept>(*this);
    if (!settings_.recording.empty()) {
      kept->recorder.emplace(id_, call.context, settings_.recorded_runs);
      call.context.named_data_map = kept->recorder->named_data();
    }
    call.original = reinterpret_cast<const ShownContext*>(call.original)->original;
    const std::uint64_t found = log_.count();
    const tenon_status plugins = call.forward();
    const tenon_status status = judge(plugins, found);
    if (status == TENON_STATUS_OK) {
      call.delegate.attached = kept;
      return status;
    }
    if (plugins == TENON_STATUS_OK) {
      watched().watch().nothing_of("destroy", call.delegate.number,
                                   [&] { theirs().destroy(opened(), call.delegate.theirs); });
    }
    // There is no delegate to record.
    kept->recorder.reset();
    return status;
  }

  tenon_status forward_execute(WatchedExecute& call) {
    // A session is created without `init`.
    if (!call.delegate.attached) call.delegate.attached = std::make_shared<Kept>(*this);
    auto& kept = *static_cast<Kept*>(call.delegate.attached.get());
    const bool looks = !settings_.fast || kept.recorder;
    const std::span<tenon_value* const> args(call.args, call.num_args);
    if (looks) kept.roles.before(args);
    if (kept.recorder) kept.recorder->before(args);
    const std::uint64_t found = log_.count();
    const tenon_status status = call.forward();
    if (looks) judge_inputs(kept.roles, args);
    if (kept.recorder) kept.recorder->after(args, status == TENON_STATUS_OK);
    return judge(status, found);
  }

  void judge_inputs(ObservedRoles& roles, std::span<tenon_value* const> args) {
    for (const std::size_t index : roles.after(args)) {
      watched().watch().violated(roles.is_constant(index) ? "TN-TEN-1" : "TN-EXE-2",
                                 "execute changed argument ", index, " of ", args.size(),
                                 ", which is an input");
    }
  }

  /// The status that the host gets for `status` of a call before which there were `found` findings.
  /// A failure without an error text gets the last finding as its text.
  tenon_status judge(tenon_status status, std::uint64_t found) {
    const bool is_broken = log_.count() != found;
    if (status != TENON_STATUS_OK) {
      if (!said_error().said) {
        const std::string text = log_.last();
        host_->set_last_error(host_, status, text.data(), text.size());
      }
      return status;
    }
    if (!settings_.strict || !is_broken) return status;
    return tenon::detail::report(host_, Error::Internal, log_.last());
  }

  void finish(CaseRecorder& recorder, const ObservedRoles& roles) noexcept {
    try {
      const auto directory = recorder.finish(settings_.recording, roles);
      if (!directory.ok()) {
        log_.log(TENON_LOG_ERROR,
                 concat("a delegate of ", id_, " is not recorded: ", directory.text()));
      } else if (*directory) {
        log_.log(TENON_LOG_INFO, concat("recorded ", (*directory)->native()));
      }
    } catch (const std::exception& thrown) {
      constexpr std::string_view text = "a delegate is not recorded: out of memory or disk space";
      host_->log(host_, TENON_LOG_ERROR, text.data(), text.size());
    }
  }

  std::shared_ptr<WrappedPlugin> plugin_;
  std::string id_;
  const tenon_host* host_;
  ProxySettings settings_;
  FindingsLog log_;
};

}}}  // namespace tenon::TENON_RELEASE::conformance
