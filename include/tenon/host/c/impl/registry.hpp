// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/c/tenon_host.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/host/backend_registry.hpp"
#include "tenon/host/c/impl/outcome.hpp"
#include "tenon/host/discovery.hpp"
#include "tenon/host/platform/path_text.hpp"

struct tenon_registry {
  std::shared_ptr<tenon::host::BackendRegistry> registry;  // Methods hold it as well.
};

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Copies of all texts of one backend.
struct ListedBackend {
  std::uint32_t state;
  std::string id, origin, reason, description, tags, name, version, vendor;
  std::int32_t priority;
  std::uint32_t num_users;
};

[[nodiscard]] inline ListedBackend to_listed(const BackendInfo& info) {
  ListedBackend out{static_cast<std::uint32_t>(info.state),
                    std::string(info.id()),
                    info.source->origin(),
                    info.reason,
                    {},
                    {},
                    {},
                    {},
                    {},
                    0,
                    info.num_users};
  if (const BackendRecord* const record = info.backend()) {
    out.description = record->description;
    for (const std::string& tag : record->tags) {
      if (!out.tags.empty()) out.tags += ',';
      out.tags += tag;
    }
    out.priority = record->priority;
  }
  if (info.source->record) {
    out.name = info.source->record->name;
    out.version = info.source->record->version;
    out.vendor = info.source->record->vendor;
  }
  return out;
}

static_assert(static_cast<int>(BackendState::known) == TENON_BACKEND_STATE_KNOWN);
static_assert(static_cast<int>(BackendState::loaded) == TENON_BACKEND_STATE_LOADED);
static_assert(static_cast<int>(BackendState::shadowed) == TENON_BACKEND_STATE_SHADOWED);
static_assert(static_cast<int>(BackendState::duplicate) == TENON_BACKEND_STATE_DUPLICATE);
static_assert(static_cast<int>(BackendState::disabled) == TENON_BACKEND_STATE_DISABLED);
static_assert(static_cast<int>(BackendState::unsupported) == TENON_BACKEND_STATE_UNSUPPORTED);
static_assert(static_cast<int>(BackendState::refused) == TENON_BACKEND_STATE_REFUSED);

[[nodiscard]] inline HostInfo to_host_info(const tenon_registry_options& options) {
  HostInfo out;
  if (options.name) out.name = options.name;
  if (options.log) {
    out.log = [log = options.log, data = options.log_data](
                  std::int32_t level, std::string_view plugin, std::string_view text) {
      log(data, level, std::string(plugin).c_str(), text.data(), text.size());
    };
  }
  return out;
}

/// NotSupported for flags that are not known, so that none is ignored.
[[nodiscard]] inline Status expect_flags(std::string_view function, std::uint32_t flags,
                                         std::uint32_t known) {
  if ((flags & ~known) == 0) return ok();
  return error(Error::NotSupported, function, ": flags is ", flags, ", of which ", flags & ~known,
               " is unknown");
}

/// NotSupported for a member that has no meaning yet, so that none is ignored.
[[nodiscard]] inline Status expect_unset(std::string_view function, std::uint32_t reserved) {
  if (reserved == 0) return ok();
  return error(Error::NotSupported, function, ": reserved is ", reserved, ", expected 0");
}

/// The texts of an array of `count`.
[[nodiscard]] inline Result<std::vector<std::string_view>> read_texts(std::string_view function,
                                                                      std::string_view name,
                                                                      const char* const* texts,
                                                                      std::uint32_t count) {
  std::vector<std::string_view> out;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!texts || !texts[i]) {
      return error(Error::InvalidArgument, function, ": ", name, "[", i, "] is null");
    }
    out.emplace_back(texts[i]);
  }
  return out;
}

[[nodiscard]] inline Registration as(const char* id) {
  Registration out;
  if (id) out.name = id;
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::host::detail

struct tenon_backend_list {
  std::vector<tenon::host::detail::ListedBackend> backends;
};

tenon_status TENON_CALL tenon_registry_create(const tenon_registry_options* options,
                                              tenon_registry** out, tenon_error** error) {
  using namespace tenon::host::detail;
  return guarded(error, [&]() -> tenon::Status {
    TENON_RETURN_IF_ERROR(expect_given("tenon_registry_create", given("out", out)));
    tenon_registry_options given_options{};
    if (options) {
      TENON_RETURN_IF_ERROR(read_struct("tenon_registry_create", *options, given_options));
    }
    TENON_RETURN_IF_ERROR(expect_unset("tenon_registry_create", given_options.reserved));
    *out = new tenon_registry{
        std::make_shared<tenon::host::BackendRegistry>(to_host_info(given_options))};
    return tenon::ok();
  });
}

void TENON_CALL tenon_registry_destroy(tenon_registry* registry) { delete registry; }

tenon_status TENON_CALL tenon_registry_discover(tenon_registry* registry,
                                                const tenon_discovery_options* options,
                                                tenon_error** error) {
  using namespace tenon::host::detail;
  constexpr std::string_view function = "tenon_registry_discover";
  return guarded(error, [&]() -> tenon::Status {
    TENON_RETURN_IF_ERROR(expect_given(function, given("registry", registry)));
    tenon_discovery_options from{};
    if (options) TENON_RETURN_IF_ERROR(read_struct(function, *options, from));
    TENON_RETURN_IF_ERROR(expect_flags(
        function, from.flags, TENON_DISCOVERY_NO_ENVIRONMENT | TENON_DISCOVERY_NO_INSTALLED));
    TENON_RETURN_IF_ERROR(expect_unset(function, from.reserved));
    TENON_TRY(const auto paths, read_texts(function, "paths", from.paths, from.num_paths));
    tenon::host::DiscoveryOptions to;
    for (const std::string_view path : paths) to.paths.push_back(tenon::host::path_of(path));
    to.use_environment = (from.flags & TENON_DISCOVERY_NO_ENVIRONMENT) == 0;
    if ((from.flags & TENON_DISCOVERY_NO_INSTALLED) != 0) to.installed.clear();
    registry->registry->add_search(tenon::host::discovery(std::move(to)));
    return tenon::ok();
  });
}

tenon_status TENON_CALL tenon_registry_register_plugin(tenon_registry* registry, const char* path,
                                                       const char* id, tenon_error** error) {
  using namespace tenon::host::detail;
  return guarded(error, [&]() -> tenon::Status {
    TENON_RETURN_IF_ERROR(expect_given("tenon_registry_register_plugin",
                                       given("registry", registry), given("path", path)));
    return registry->registry->register_backend(tenon::host::path_of(path), as(id));
  });
}

tenon_status TENON_CALL tenon_registry_register_static_plugin(tenon_registry* registry,
                                                              const tenon_plugin_head* plugin,
                                                              const char* id, tenon_error** error) {
  using namespace tenon::host::detail;
  return guarded(error, [&]() -> tenon::Status {
    TENON_RETURN_IF_ERROR(expect_given("tenon_registry_register_static_plugin",
                                       given("registry", registry), given("plugin", plugin)));
    return registry->registry->register_backend(plugin, as(id));
  });
}

tenon_status TENON_CALL tenon_registry_unregister(tenon_registry* registry, const char* id,
                                                  tenon_error** error) {
  using namespace tenon::host::detail;
  return guarded(error, [&]() -> tenon::Status {
    TENON_RETURN_IF_ERROR(
        expect_given("tenon_registry_unregister", given("registry", registry), given("id", id)));
    return registry->registry->unregister_backend(id);
  });
}

tenon_status TENON_CALL tenon_registry_check_backend(const tenon_registry* registry, const char* id,
                                                     tenon_error** error) {
  using namespace tenon::host::detail;
  return guarded(error, [&]() -> tenon::Status {
    TENON_RETURN_IF_ERROR(
        expect_given("tenon_registry_check_backend", given("registry", registry), given("id", id)));
    TENON_TRY(const auto backend, registry->registry->lookup_backend(std::string_view(id)));
    return backend->is_available();
  });
}

tenon_status TENON_CALL tenon_registry_list(const tenon_registry* registry,
                                            tenon_backend_list** out, tenon_error** error) {
  using namespace tenon::host::detail;
  return guarded(error, [&]() -> tenon::Status {
    TENON_RETURN_IF_ERROR(
        expect_given("tenon_registry_list", given("registry", registry), given("out", out)));
    auto list = std::make_unique<tenon_backend_list>();
    for (const auto& info : registry->registry->enumerate_backends()) {
      list->backends.push_back(to_listed(info));
    }
    *out = list.release();
    return tenon::ok();
  });
}

uint64_t TENON_CALL tenon_backend_list_size(const tenon_backend_list* list) {
  return list ? list->backends.size() : 0;
}

tenon_status TENON_CALL tenon_backend_list_get(const tenon_backend_list* list, uint64_t index,
                                               tenon_backend_info* out, tenon_error** error) {
  using namespace tenon::host::detail;
  constexpr std::string_view function = "tenon_backend_list_get";
  return guarded(error, [&]() -> tenon::Status {
    TENON_RETURN_IF_ERROR(expect_given(function, given("list", list)));
    TENON_RETURN_IF_ERROR(expect_writable(function, out));
    if (index >= list->backends.size()) {
      return tenon::error(tenon::Error::InvalidArgument, function, ": expected an index below ",
                          list->backends.size(), ", found ", index);
    }
    const ListedBackend& from = list->backends[static_cast<std::size_t>(index)];
    write_struct(*out, {0, from.state, from.id.c_str(), from.origin.c_str(), from.reason.c_str(),
                        from.description.c_str(), from.tags.c_str(), from.name.c_str(),
                        from.version.c_str(), from.vendor.c_str(), from.priority, from.num_users});
    return tenon::ok();
  });
}

void TENON_CALL tenon_backend_list_destroy(tenon_backend_list* list) { delete list; }
