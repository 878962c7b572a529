// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "tenon/abi/backend.h"
#include "tenon/abi/extensions/cancel.h"
#include "tenon/abi/extensions/threads.h"
#include "tenon/abi/host.h"
#include "tenon/abi/private/changes.h"
#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The context of all calls of one delegate or kernel. Its address must not change: it answers what
/// the plugin asks about the call (abi/extensions/cancel.h, changes.h and threads.h).
class HostExecutionContext : public tenon_execution_context {
 public:
  /// Of no call.
  HostExecutionContext() noexcept : tenon_execution_context{} {}

  /// `tracer` is null where events are not recorded, `changes` where they are not counted,
  /// `cancel_flag` where runs cannot be cancelled, `threads` where the application gave none. What
  /// the pointers refer to must outlive this.
  HostExecutionContext(const tenon_host* its_host, const char* method,
                       tenon_allocator* temporary_memory, const tenon_tracer* its_tracer,
                       tenon_changes* changes = nullptr, const std::uint32_t* cancel_flag = nullptr,
                       const tenon_thread_pool* threads = nullptr) noexcept
      : tenon_execution_context{}, changes_(changes), cancel_flag_(cancel_flag), threads_(threads) {
    struct_size = sizeof(tenon_execution_context);
    host = its_host;
    method_name = method;
    temp_allocator = temporary_memory;
    tracer = its_tracer;
  }

  /// The functions of the extensions.
  [[nodiscard]] static const tenon_changes_v1& changes_table() noexcept {
    static constexpr tenon_changes_v1 table = {sizeof(tenon_changes_v1), 0, &get_changes};
    return table;
  }
  [[nodiscard]] static const tenon_cancel_flag_v1& cancel_flag_table() noexcept {
    static constexpr tenon_cancel_flag_v1 table = {sizeof(tenon_cancel_flag_v1), 0,
                                                   &get_cancel_flag};
    return table;
  }

  /// The application's threads for the call that got `context`, which is part of an object of this
  /// class; null where there are none.
  static const tenon_thread_pool* threads_of(const tenon_execution_context* context) noexcept {
    return context ? static_cast<const HostExecutionContext*>(context)->threads_ : nullptr;
  }

 private:
  // `context` is part of an object of this class.
  static tenon_changes* get_changes(const tenon_execution_context* context) noexcept {
    return context ? static_cast<const HostExecutionContext*>(context)->changes_ : nullptr;
  }
  static const std::uint32_t* get_cancel_flag(const tenon_execution_context* context) noexcept {
    return context ? static_cast<const HostExecutionContext*>(context)->cancel_flag_ : nullptr;
  }

  tenon_changes* changes_ = nullptr;
  const std::uint32_t* cancel_flag_ = nullptr;
  const tenon_thread_pool* threads_ = nullptr;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
