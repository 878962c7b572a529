// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "tenon/abi/extensions/cancel.h"
#include "tenon/backend/context.hpp"
#include "tenon/backend/host_services.hpp"
#include "tenon/core/status.hpp"

namespace tenon { inline namespace TENON_RELEASE {

template <class Derived>
class Backend;

/// Whether the run that a call of `execute` is part of was cancelled. Small, to be copied to the
/// threads that compute; valid until `execute` returns.
class CancelFlag {
 public:
  /// Of a run that cannot be cancelled.
  CancelFlag() noexcept = default;
  explicit CancelFlag(const std::uint32_t* flag) noexcept : flag_(flag) {}
  /// The flag of the call of `execute`, `start` or a kernel that got `context`:
  /// `const tenon::CancelFlag cancelled(*this, context);`.
  template <class Derived>
  CancelFlag(const Backend<Derived>& backend, const ExecutionContext& context) noexcept
      : CancelFlag(host_tables_of(backend).cancel_flag, context) {}
  /// The flag of the call that got `context`, from the host's table of TENON_EXTENSION_CANCEL_FLAG,
  /// which may be null.
  CancelFlag(const tenon_cancel_flag_v1* table, const ExecutionContext& context) noexcept
      : flag_(table ? table->get_cancel_flag(&context.raw()) : nullptr) {}

  /// Whether the run can be cancelled at all.
  [[nodiscard]] bool exists() const noexcept { return flag_ != nullptr; }

  /// One load: cheap enough for each block of a loop. From any thread.
  [[nodiscard]] bool is_set() const noexcept {
    using Atomic = std::atomic<std::uint32_t>;
    static_assert(sizeof(Atomic) == sizeof(std::uint32_t) && Atomic::is_always_lock_free);
    return flag_ && reinterpret_cast<const Atomic*>(flag_)->load(std::memory_order_relaxed) != 0;
  }

  /// Cancelled when it is set: `TENON_RETURN_IF_ERROR(flag.check())` between two steps.
  [[nodiscard]] Status check() const {
    return is_set() ? error(Error::Cancelled, "the run was cancelled") : ok();
  }

 private:
  const std::uint32_t* flag_ = nullptr;
};

}}  // namespace tenon::TENON_RELEASE
