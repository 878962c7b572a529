// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/abi/backend.h"
#include "tenon/abi/extensions/changes.h"
#include "tenon/abi/host.h"

namespace tenon::host::detail {

/// The context of all calls of one delegate or kernel. Its address must not change: it answers what
/// the plugin asks about the call (abi/extensions/changes.h).
class HostExecutionContext : public tenon_execution_context {
 public:
  /// Of no call.
  HostExecutionContext() noexcept : tenon_execution_context{} {}

  /// `tracer` is null where events are not recorded, `changes` where they are not counted. What the
  /// pointers refer to must outlive this.
  HostExecutionContext(const tenon_host* its_host, const char* method,
                       tenon_allocator* temporary_memory, const tenon_tracer* its_tracer,
                       tenon_changes* changes = nullptr) noexcept
      : tenon_execution_context{}, changes_(changes) {
    struct_size = sizeof(tenon_execution_context);
    host = its_host;
    method_name = method;
    temp_allocator = temporary_memory;
    tracer = its_tracer;
  }

  /// The functions of the extension.
  [[nodiscard]] static const tenon_changes_v1& changes_table() noexcept {
    static constexpr tenon_changes_v1 table = {sizeof(tenon_changes_v1), 0, &get_changes};
    return table;
  }

 private:
  static tenon_changes* get_changes(const tenon_execution_context* context) noexcept {
    // `context` is part of an object of this class.
    return context ? static_cast<const HostExecutionContext*>(context)->changes_ : nullptr;
  }

  tenon_changes* changes_ = nullptr;
};

}  // namespace tenon::host::detail
