// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/budget/impl/memory_meter.hpp"
#include "tenon/host/layers/budget/memory.hpp"
#include "tenon/host/loader/files/limits.hpp"
#include "tenon/host/loader/impl/method/arena.hpp"
#include "tenon/host/loader/program/device_buffers.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The budget of one method, by device.
class MethodBudget {
 public:
  /// Bytes that the host adds to what each delegate states, to align it in memory that it lends.
  static constexpr std::uint64_t room_to_align = 64;

  /// The most bytes of each device. Once, before all else.
  ///
  /// errors: InvalidArgument for a device that is listed twice.
  [[nodiscard]] Status set_limits(std::span<const DeviceBytes> limits) {
    for (const DeviceBytes& entry : limits) {
      if (find(entry.device)) {
        return error(Error::InvalidArgument, "budget: ", device_name(entry.device),
                     " is listed twice");
      }
      meters_.emplace_back(entry.device, entry.nbytes);
    }
    lent_.set_limit(cpu());
    return ok();
  }

  /// The runtime allocator of the delegates: apart from the method's own arena, whose room
  /// is for its tables.
  [[nodiscard]] Arena& lent() noexcept { return lent_; }

  /// The meter of a device, or null when there is no budget for it.
  [[nodiscard]] MemoryMeter* find(tenon_dl_device device) noexcept {
    for (MemoryMeter& meter : meters_) {
      if (is_same_device(meter.device(), device)) return &meter;
    }
    return nullptr;
  }
  [[nodiscard]] MemoryMeter* cpu() noexcept { return find({TENON_DL_CPU, 0}); }

  /// Checks and takes what the host itself will allocate. OutOfResources when it does not fit.
  [[nodiscard]] Status take_host(MethodEstimate host) {
    estimate_ = std::move(host);
    return take_totals({});
  }

  /// Takes the bytes of the delegates from the budget, in addition to the method's own.
  [[nodiscard]] Status take_delegates(std::vector<DelegateEstimate> delegates) {
    const std::vector<DeviceBytes> before = estimate_.totals();
    estimate_.delegates = std::move(delegates);
    return take_totals(before);
  }

  [[nodiscard]] const MethodEstimate& estimate() const noexcept { return estimate_; }

  /// Around `init` of delegate `index`: memory that it takes from the host is part of what its
  /// backend has stated.
  void begin_delegate(std::size_t index) noexcept {
    MemoryMeter* const meter = cpu();
    if (!meter) return;
    meter->set_credit(add_saturating(held_by(estimate_.delegates[index]), room_to_align));
  }
  void end_delegate() noexcept {
    if (MemoryMeter* const meter = cpu()) meter->set_credit(0);
  }

  /// Takes a further session, by the statements; OutOfResources when it does not fit. Memory that
  /// it takes of `lent` until `end_session` is part of what its backends have stated.
  [[nodiscard]] Status begin_session(Arena& lent) {
    TENON_RETURN_IF_ERROR(take_session());
    MemoryMeter* const meter = cpu();
    if (!meter) return ok();
    lent.set_limit(meter);
    used_before_session_ = meter->used();
    meter->set_credit(
        add_saturating(session_on(meter->device()), room_to_align * estimate_.delegates.size()));
    return ok();
  }
  /// The bytes that it took beyond the statements.
  [[nodiscard]] std::uint64_t end_session() noexcept {
    MemoryMeter* const meter = cpu();
    if (!meter) return 0;
    meter->set_credit(0);
    return meter->used() - used_before_session_;
  }
  /// The session is destroyed, which took `beyond` the statements.
  void give_session(std::uint64_t beyond) noexcept {
    for (MemoryMeter& meter : meters_) meter.give(session_on(meter.device()));
    if (MemoryMeter* const meter = cpu()) meter->give(beyond);
  }

  /// `outcome`, or when memory of the host was refused since the last call, that as the reason.
  [[nodiscard]] Status explain(Status outcome) {
    MemoryMeter* const meter = cpu();
    if (!meter || !meter->has_refused()) return outcome;
    const bool failed = !outcome.ok();
    Status refusal = refuse(*meter, failed ? outcome.text() : "");
    return failed ? std::move(refusal) : ok();
  }

 private:
  /// By the statements alone.
  Status take_session() {
    for (std::size_t i = 0; i < meters_.size(); ++i) {
      const std::uint64_t bytes = session_on(meters_[i].device());
      if (meters_[i].take(bytes)) continue;
      while (i-- > 0) meters_[i].give(session_on(meters_[i].device()));
      for (MemoryMeter& meter : meters_) {
        if (meter.has_refused()) return refuse(meter, concat("a session of ", bytes));
      }
    }
    return ok();
  }

  static Status refuse(MemoryMeter& meter, std::string_view what) {
    Status out = meter.last_refusal(what);
    meter.forget_refusal();
    return out;
  }

  static std::uint64_t held_by(const DelegateEstimate& delegate,
                               tenon_dl_device device = {TENON_DL_CPU, 0}) noexcept {
    std::uint64_t sum = 0;
    for (const DelegateBytes& need : delegate.needs) {
      if (!is_same_device(need.device, device)) continue;
      sum = add_saturating(sum, add_saturating(need.weights, need.workspace));
    }
    return sum;
  }

  [[nodiscard]] std::uint64_t session_on(tenon_dl_device device) const noexcept {
    std::uint64_t sum = 0;
    for (const DelegateEstimate& delegate : estimate_.delegates) {
      for (const DelegateBytes& need : delegate.needs) {
        if (is_same_device(need.device, device)) sum = add_saturating(sum, need.session);
      }
    }
    return sum;
  }

  /// Takes the totals of the estimate, less those that were taken before. All devices are checked
  /// before the first is charged.
  Status take_totals(std::span<const DeviceBytes> before) {
    const std::vector<DeviceBytes> totals = estimate_.totals();
    for (const DeviceBytes& total : totals) {
      const MemoryMeter* const meter = find(total.device);
      if (meter && total.nbytes > meter->limit()) {
        return meter->refusal(total.nbytes, parts_on(total.device));
      }
    }
    for (const DeviceBytes& total : totals) {
      MemoryMeter* const meter = find(total.device);
      if (!meter) continue;
      std::uint64_t more = total.nbytes;
      for (const DeviceBytes& old : before) {
        if (is_same_device(old.device, total.device)) more -= old.nbytes;
      }
      if (!meter->take(more)) return refuse(*meter, parts_on(total.device));
    }
    return ok();
  }

  /// "planned memory 400, tables 50, delegate 0 (Add) 20"
  [[nodiscard]] std::string parts_on(tenon_dl_device device) const {
    std::string out;
    const auto add = [&](std::string_view what, std::uint64_t nbytes) {
      if (nbytes != 0) out += concat(out.empty() ? "" : ", ", what, " ", nbytes);
    };
    for (const DeviceBytes& planned : estimate_.planned) {
      if (is_same_device(planned.device, device)) add("planned memory", planned.nbytes);
    }
    if (is_cpu(device)) add("tables", estimate_.tables);
    constexpr std::size_t most = 8;
    std::size_t named = 0;
    std::uint64_t others = 0;
    for (std::size_t i = 0; i < estimate_.delegates.size(); ++i) {
      const DelegateEstimate& delegate = estimate_.delegates[i];
      const std::uint64_t held = held_by(delegate, device);
      if (held != 0 && ++named <= most) {
        add(concat("delegate ", i, " (", std::string_view(delegate.backend_id), ")"), held);
      } else {
        others = add_saturating(others, held);
      }
    }
    add("other delegates", others);
    return out;
  }

  std::vector<MemoryMeter> meters_;  // Their addresses are fixed by `set_limits`.
  Arena lent_;
  MethodEstimate estimate_;
  std::uint64_t used_before_session_ = 0;  // While one is created.
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
