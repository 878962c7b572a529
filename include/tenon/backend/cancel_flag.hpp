// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "tenon/abi/extensions/cancel.h"
#include "tenon/backend/backend.hpp"
#include "tenon/backend/context.hpp"
#include "tenon/backend/host_services.hpp"
#include "tenon/core/status.hpp"

namespace tenon {

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
      : flag_(backend.cancel_flags_ ? backend.cancel_flags_->get_cancel_flag(&context.raw())
                                    : nullptr) {}

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

/// The flags of a host's runs, for code of a backend that has no `Backend` at hand.
class CancelFlags {
 public:
  /// Of a host whose runs cannot be cancelled.
  CancelFlags() noexcept = default;
  explicit CancelFlags(const HostServices& host) noexcept
      : table_(host.extension<tenon_cancel_flag_v1>(TENON_EXTENSION_CANCEL_FLAG)) {}

  /// The flag of the call of `execute` or `start` that got `context`.
  [[nodiscard]] CancelFlag of(const ExecutionContext& context) const noexcept {
    return table_ ? CancelFlag(table_->get_cancel_flag(&context.raw())) : CancelFlag();
  }

 private:
  const tenon_cancel_flag_v1* table_ = nullptr;
};

}  // namespace tenon
