// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/device_allocator.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/executorch/adapter/device_allocator.hpp"
#include "tenon/executorch/adapter/last_error.hpp"
#include "tenon/executorch/adapter/plugin_adapter.hpp"
#include "tenon/executorch/error.hpp"
#include "tenon/executorch/layout_probe.hpp"
#include "tenon/executorch/version.hpp"
#include "tenon/host/backend_registry.hpp"
#include "tenon/host/layers/isolation/plugin_isolation.hpp"
#include "tenon/host/layers/trust/library_policy.hpp"

/// Registers plugins of Tenon as backends of ExecuTorch (docs/executorch/bridges.md).
namespace tenon { inline namespace TENON_RELEASE { namespace bridge {

/// A backend that `register_plugins` left out, because ExecuTorch has its id already.
struct RefusedBackend {
  std::string id;
  std::string reason;  ///< With the owner of the id, and how to leave the backend out.
};

struct RegisterOptions {
  /// The backends to register: all of these or none. Empty: all that the plugin or the registry
  /// lists, without those whose id ExecuTorch has already.
  std::vector<std::string> ids{};
  /// Receives the backends that were left out, in the order of the list; borrowed for the call.
  /// They are written to ExecuTorch's log, too.
  std::vector<RefusedBackend>* refused = nullptr;
  AdapterOptions adapter{};
  /// For a registry that `register_plugins` makes: admits the library, and loads it into a process
  /// of its own, as `host::HostInfo::gates`; null: no policy, no process.
  std::shared_ptr<const host::LibraryPolicy> library_policy{};
  std::shared_ptr<const host::PluginIsolation> isolation{};
  /// Size of ExecuTorch's table of backends (kMaxRegisteredBackends of
  /// runtime/backend/interface.cpp, which no function returns).
  std::size_t table_size = 16;
};

/// A backend that `register_plugins` gave to ExecuTorch.
struct RegisteredBackend {
  std::string id;
  std::string plugin;   ///< Path of its file; empty for a plugin that is linked in or an object.
  std::string version;  ///< Of the plugin, as its author wrote it; may be empty.
};

namespace detail {

/// The backends that this code registered. ExecuTorch cannot remove a backend from its table and
/// uses it until the process ends, so adapters, and with them plugins, are never freed.
struct Registered {
  std::mutex mutex;
  std::vector<std::unique_ptr<PluginAdapter>> adapters;
  std::vector<RegisteredBackend> backends;  // In the order of `adapters`.
  std::vector<std::unique_ptr<PluginDeviceAllocator>> allocators;
};

inline Registered& registered() {
  static auto* const all = new Registered;  // Reachable for ever, and never destroyed.
  return *all;
}

/// The file that a backend's code is in, without its directory.
inline std::string library_of(const et::BackendInterface* backend) {
  const void* table = nullptr;
  std::memcpy(&table, static_cast<const void*>(backend), sizeof table);
  ::Dl_info info{};
  if (::dladdr(table, &info) == 0 || !info.dli_fname) return "unknown";
  return std::filesystem::path(info.dli_fname).filename().native();
}

/// The contents of ExecuTorch's table: "XnnpackBackend (libexecutorch_backend_xnnpack.so), ...".
inline std::string table_text(const Registered& ours) {
  std::string out;
  for (std::size_t i = 0; i < et::get_num_registered_backends(); ++i) {
    const auto name = et::get_backend_name(i);
    if (!name.ok()) continue;
    const et::BackendInterface* const backend = et::get_backend_class(*name);
    std::string from = library_of(backend);
    for (std::size_t k = 0; k < ours.adapters.size(); ++k) {
      if (ours.adapters[k].get() == backend) from = ours.backends[k].plugin;
    }
    out += concat(out.empty() ? "" : ", ", std::string_view(*name), " (", from, ")");
  }
  return out;
}

/// A line of a plugin's log, in ExecuTorch's.
inline void log_line(std::int32_t level, std::string_view plugin, std::string_view text) {
  log_text(level, level >= TENON_LOG_ERROR ? concat(plugin, ": ", text) : std::string(text));
}

/// The registry's backends that will be registered, with the facts about their plugins.
inline std::vector<RegisteredBackend> describe(const host::BackendRegistry& registry,
                                               const std::vector<std::string>& ids) {
  const std::vector<host::BackendInfo> infos = registry.enumerate_backends();
  std::vector<RegisteredBackend> out;
  for (const std::string& id : ids) {
    RegisteredBackend& each = out.emplace_back(RegisteredBackend{id, "", ""});
    for (const host::BackendInfo& info : infos) {
      const bool is_chosen = info.id() == id && (info.state == host::BackendState::known ||
                                                 info.state == host::BackendState::loaded);
      if (!is_chosen) continue;
      each.plugin = info.source->path.native();
      if (info.source->record) each.version = info.source->record->version;
    }
  }
  return out;
}

/// Why `taken` cannot be registered, and how to leave it out of `wanted`.
inline std::string taken_text(const Registered& ours, const std::vector<RegisteredBackend>& wanted,
                              const RegisteredBackend& taken) {
  std::string others;
  for (const RegisteredBackend& each : wanted) {
    if (et::get_backend_class(each.id.c_str())) continue;
    others += concat(others.empty() ? "\"" : ", \"", each.id, "\"");
  }
  return concat("backend '", taken.id, "' of ",
                taken.plugin.empty() ? std::string("the application") : taken.plugin,
                " is registered already in ExecuTorch, which can neither replace nor remove it; ",
                others.empty() ? std::string("use one of both")
                               : concat("leave it out by naming the others: ids=[", others, "]"),
                ". Its table has: ", table_text(ours));
}

/// Checks that no backend is named twice.
inline Status check_names(const std::vector<RegisteredBackend>& wanted) {
  for (const RegisteredBackend& each : wanted) {
    const auto count = std::count_if(wanted.begin(), wanted.end(),
                                     [&](const auto& other) { return other.id == each.id; });
    if (count == 1) continue;
    return error(Error::InvalidArgument, "backend '", each.id, "' is named ", count, " times");
  }
  return ok();
}

/// Takes the backends whose ids ExecuTorch has out of `wanted`, and reports each. Fails if they
/// were named by the caller, or if no other is left.
inline Status leave_out_taken(const Registered& ours, std::vector<RegisteredBackend>& wanted,
                              const RegisterOptions& options) {
  std::vector<RefusedBackend> refused;
  std::vector<RegisteredBackend> free;
  for (const RegisteredBackend& each : wanted) {
    if (et::get_backend_class(each.id.c_str())) {
      refused.push_back({each.id, taken_text(ours, wanted, each)});
    } else {
      free.push_back(each);
    }
  }
  if (refused.empty()) return ok();
  if (!options.ids.empty() || free.empty()) {
    return error(Error::RegistrationAlreadyRegistered, refused.front().reason);
  }
  for (const RefusedBackend& each : refused) log_text(TENON_LOG_ERROR, each.reason);
  if (options.refused) *options.refused = std::move(refused);
  wanted = std::move(free);
  return ok();
}

/// Checks that all of `wanted` fit into ExecuTorch's table.
inline Status check_room(const Registered& ours, const std::vector<RegisteredBackend>& wanted,
                         std::size_t table_size) {
  const std::size_t used = et::get_num_registered_backends();
  if (wanted.size() <= table_size - std::min(used, table_size)) return ok();
  return error(Error::OutOfResources, wanted.size(),
               " backends do not fit into ExecuTorch's table, ", "which has room for ", table_size,
               " and holds ", used,
               "; register fewer by naming them, or link fewer. It has: ", table_text(ours));
}

/// Whether ExecuTorch reaches the adapter through the functions that it was compiled with.
inline Status check_reached(const PluginAdapter& adapter) {
  for (const bool sets : {true, false}) {
    PluginAdapter::reached() = nullptr;
    const et::Span<et::BackendOption> none;
    const et::Error asked = sets ? et::set_option(adapter.id().c_str(), none)
                                 : et::get_option(adapter.id().c_str(), none);
    if (asked != et::Error::Ok || PluginAdapter::reached() != &adapter) {
      return differs("BackendInterface");
    }
  }
  return ok();
}

/// Makes ExecuTorch allocate on the backend's CUDA devices through it, unless it has an allocator
/// for them. A backend without such devices is not a failure.
inline void register_allocator(Registered& ours, const host::BackendRef& backend) {
  if (et::get_device_allocator(et::etensor::DeviceType::CUDA)) return;
  const auto allocator = PluginDeviceAllocator::make(backend);
  if (!allocator.ok()) return;
  ours.allocators.emplace_back(*allocator);
  et::register_device_allocator(*allocator);
}

/// `register_plugins`, where `listed` is what the registry lists.
inline Result<std::vector<std::string>> register_listed(
    const std::shared_ptr<const host::BackendRegistry>& registry,
    const std::vector<std::string>& listed, const RegisterOptions& options) {
  if (options.refused) options.refused->clear();
  Registered& ours = registered();
  const std::lock_guard lock(ours.mutex);
  std::vector<RegisteredBackend> wanted =
      describe(*registry, options.ids.empty() ? listed : options.ids);
  TENON_RETURN_IF_ERROR(check_names(wanted));
  TENON_RETURN_IF_ERROR(leave_out_taken(ours, wanted, options));
  TENON_RETURN_IF_ERROR(check_room(ours, wanted, options.table_size));
  std::vector<std::string> ids;
  for (const RegisteredBackend& each : wanted) ids.push_back(each.id);

  std::vector<std::unique_ptr<PluginAdapter>> adapters;
  for (const std::string& id : ids) {
    TENON_TRY(host::BackendRef backend, registry->lookup_backend(id));
    auto& adapter = adapters.emplace_back(
        std::make_unique<PluginAdapter>(std::move(backend), registry, options.adapter));
    adapter->set_id(id);
  }
  ours.adapters.reserve(ours.adapters.size() + ids.size());
  ours.backends.reserve(ours.backends.size() + ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const PluginAdapter& adapter = *adapters[i];
    const et::Error failed = et::register_backend({adapter.id().c_str(), adapters[i].get()});
    if (failed != et::Error::Ok) {
      return error(from_executorch(failed), "ExecuTorch does not register backend '", adapter.id(),
                   "' although it has room; ", i, " of ", ids.size(),
                   " are registered. It has: ", table_text(ours));
    }
    ours.adapters.push_back(std::move(adapters[i]));
    ours.backends.push_back(std::move(wanted[i]));
    TENON_RETURN_IF_ERROR(check_reached(adapter));
    register_allocator(ours, adapter.backend());
  }
  return ids;
}

}  // namespace detail

/// Registers backends of `registry` in ExecuTorch: all that it lists, or those that `options`
/// names. They are loaded, and stay loaded until the process ends, as ExecuTorch has no way to take
/// a backend back; so does the registry. Either all are registered or none is; but of backends that
/// `options` does not name, those whose id ExecuTorch has already are left out, logged, and listed
/// in `options.refused`.
///
/// Must not run while another thread registers backends or loads methods: ExecuTorch's table has no
/// lock.
///
/// returns: the ids that were registered, in their order.
/// errors: NotSupported (another ExecuTorch than this was compiled for; `check_runtime`),
///         RegistrationAlreadyRegistered (a named id that ExecuTorch has, or all ids are such),
///         OutOfResources (its table is full), NotFound (an id that the registry does not have),
///         and whatever loading a plugin fails with. The text suggests a remedy.
[[nodiscard]] inline Result<std::vector<std::string>> register_plugins(
    std::shared_ptr<const host::BackendRegistry> registry, const RegisterOptions& options = {}) {
  if (!registry) return error(Error::InvalidArgument, "expected a registry, found null");
  TENON_RETURN_IF_ERROR(check_runtime());
  return detail::register_listed(registry, registry->list_backends(), options);
}

/// Registers the backends of the plugin in `plugin`, a file that the application answers for
/// (`host::BackendRegistry::register_backend`). Lines that the plugin logs are written to
/// ExecuTorch's log. Otherwise as above; fails also as reading the plugin does.
[[nodiscard]] inline Result<std::vector<std::string>> register_plugins(
    const std::filesystem::path& plugin, const RegisterOptions& options = {}) {
  TENON_RETURN_IF_ERROR(check_runtime());
  auto registry = std::make_shared<host::BackendRegistry>(
      host::HostInfo{"ExecuTorch through Tenon " TENON_VERSION_STRING,
                     &detail::log_line,
                     {options.library_policy, options.isolation}});
  TENON_RETURN_IF_ERROR(registry->register_backend(plugin));
  const std::vector<std::string> listed = registry->list_backends({});
  return detail::register_listed(std::move(registry), listed, options);
}

/// The backends that this code registered in ExecuTorch, in that order. Any thread.
[[nodiscard]] inline std::vector<RegisteredBackend> registered_backends() {
  detail::Registered& ours = detail::registered();
  const std::lock_guard lock(ours.mutex);
  return ours.backends;
}

}}}  // namespace tenon::TENON_RELEASE::bridge
