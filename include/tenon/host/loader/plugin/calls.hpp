// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/abi/backend.h"
#include "tenon/abi/host.h"
#include "tenon/abi/private/changes.h"
#include "tenon/abi/version.h"

/// The contexts that the host gives to plugins, and how a table of the host finds what belongs to
/// the present call.
namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// One layer's data for the calls of a context. The layer owns the object, and puts it before those
/// that are there: `mine = {&key, &value, call.services}; call.services = &mine;`.
struct Service {
  const void* key = nullptr;  ///< An address that the layer alone has.
  void* value = nullptr;
  const Service* next = nullptr;
};

/// The value with `key` among `first` and what follows it; null without one.
[[nodiscard]] inline void* find_service(const Service* first, const void* key) noexcept {
  for (; first; first = first->next) {
    if (first->key == key) return first->value;
  }
  return nullptr;
}

/// Of the service of each `init` in the load of a method: its `Loading`.
inline constexpr char loading_key = 0;

/// The context of one `init` or `check_blob`. The host's tables get it back from the plugin.
struct InitCall : tenon_init_context {
  const Service* services = nullptr;

  InitCall() noexcept : tenon_init_context{} { struct_size = sizeof(tenon_init_context); }
};

/// The value with `key` for the call that got `context`, which is part of an InitCall or null.
[[nodiscard]] inline void* find_service(const tenon_init_context* context,
                                        const void* key) noexcept {
  return context ? find_service(static_cast<const InitCall*>(context)->services, key) : nullptr;
}

/// The context of all calls of one delegate or kernel. Its address must not change: plugins may
/// keep it from call to call.
struct CallContext : tenon_execution_context {
  tenon_changes* changes = nullptr;  ///< Null where they are not counted.
  const Service* services = nullptr;

  /// An empty context.
  CallContext() noexcept : tenon_execution_context{} {}

  /// `its_tracer` is null where events are not recorded. What the pointers refer to must outlive
  /// this.
  CallContext(const tenon_host* its_host, const char* method, tenon_allocator* temporary_memory,
              const tenon_tracer* its_tracer, tenon_changes* its_changes = nullptr,
              const Service* its_services = nullptr) noexcept
      : tenon_execution_context{}, changes(its_changes), services(its_services) {
    struct_size = sizeof(tenon_execution_context);
    host = its_host;
    method_name = method;
    temp_allocator = temporary_memory;
    tracer = its_tracer;
  }
};

/// The value with `key` for the call that got `context`, which is part of a CallContext or null.
[[nodiscard]] inline void* find_service(const tenon_execution_context* context,
                                        const void* key) noexcept {
  return context ? find_service(static_cast<const CallContext*>(context)->services, key) : nullptr;
}

/// The functions of "tenon.private.changes/1". Bridges ask in each call, so that what they find is
/// a member.
[[nodiscard]] inline const tenon_changes_v1& changes_table() noexcept {
  static constexpr tenon_changes_v1 table = {
      sizeof(tenon_changes_v1), 0, [](const tenon_execution_context* context) {
        return context ? static_cast<const CallContext*>(context)->changes : nullptr;
      }};
  return table;
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
