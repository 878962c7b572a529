// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "tenon/core/concat.hpp"
#include "tenon/core/status.hpp"
#include "tenon/host/loader/files/limits.hpp"
#include "tenon/host/loader/impl/method/memory_limit.hpp"
#include "tenon/host/loader/program/device_buffers.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Counts memory of one device against a budget.
class MemoryMeter final : public MemoryLimit {
 public:
  MemoryMeter(tenon_dl_device device, std::uint64_t limit) noexcept
      : device_(device), limit_(limit) {}

  [[nodiscard]] tenon_dl_device device() const noexcept { return device_; }
  [[nodiscard]] std::uint64_t limit() const noexcept { return limit_; }
  [[nodiscard]] std::uint64_t used() const noexcept { return used_; }

  /// Takes `nbytes`; false, and nothing is taken, when that is above the budget.
  [[nodiscard]] bool take(std::uint64_t nbytes) noexcept override {
    const std::uint64_t paid = std::min(nbytes, credit_);
    if (nbytes - paid > limit_ - used_) {
      refused_ = add_saturating(used_, nbytes - paid);
      return false;
    }
    credit_ -= paid;
    used_ += nbytes - paid;
    return true;
  }
  void give(std::uint64_t nbytes) noexcept override { used_ -= std::min(used_, nbytes); }

  /// Sets what may be taken without being counted, as it was counted before: the statement of the
  /// delegate that is being loaded.
  void set_credit(std::uint64_t nbytes) noexcept { credit_ = nbytes; }

  void forget_refusal() noexcept override { refused_ = 0; }
  [[nodiscard]] bool has_refused() const noexcept { return refused_ != 0; }

  /// "budget of CPU: needs 500 bytes (what), the budget is 400"
  [[nodiscard]] Status refusal(std::uint64_t needed, std::string_view what) const {
    return error(Error::OutOfResources, "budget of ", device_name(device_), ": needs ", needed,
                 " bytes (", what, "), the budget is ", limit_);
  }
  [[nodiscard]] Status last_refusal(std::string_view what) const { return refusal(refused_, what); }

 private:
  tenon_dl_device device_;
  std::uint64_t limit_;
  std::uint64_t used_ = 0;
  std::uint64_t credit_ = 0;
  std::uint64_t refused_ = 0;  ///< Bytes that the latest refusal would have needed, or 0.
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
