// SPDX-License-Identifier: MIT
#pragma once

#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/platform/platform.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tenon/abi/host.h"
#include "tenon/executorch/error.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace bridge::detail {

/// The host's tracer as ExecuTorch's: receives the events of a delegate or a kernel. The host's
/// tracer has no values and no allocations, so these are dropped: logging a value returns `false`.
///
/// Names of running events are kept in slots; an event beyond `max_open` of them has no name.
class HostEventTracer final : public et::EventTracer {
 public:
  /// Sets the receiver of events until the next call; null: none. Events that did not end are lost.
  void use(const tenon_tracer* tracer) noexcept {
    tracer_ = tracer;
    if (!tracer_) return;
    for (Open& slot : open_) slot.used = false;
  }

  void create_event_block(const char*) override {}

  et::EventTracerEntry start_profiling(const char* name, et::ChainID chain,
                                       et::DebugHandle handle) override {
    return start(name, handle == et::kUnsetDebugHandle ? -1 : std::int64_t{handle}, chain,
                 et::DelegateDebugIdType::kNone);
  }
  void end_profiling(et::EventTracerEntry entry) override { end(entry, nullptr, 0); }

  et::EventTracerEntry start_profiling_delegate(const char* name,
                                                et::DelegateDebugIntId id) override {
    return start(name, id, et::kUnsetChainId,
                 name ? et::DelegateDebugIdType::kStr : et::DelegateDebugIdType::kInt);
  }
  void end_profiling_delegate(et::EventTracerEntry entry, const void* metadata,
                              std::size_t size) override {
    end(entry, metadata, size);
  }

  /// Times are in ExecuTorch's ticks: they are placed on the host's clock by how long ago they
  /// were.
  void log_profiling_delegate(const char* name, et::DelegateDebugIntId id, et_timestamp_t start,
                              et_timestamp_t end, const void* metadata, std::size_t size) override {
    if (!tracer_) return;
    const std::uint64_t now = tracer_->now(tracer_);
    const et_timestamp_t ticks = et::pal_current_ticks();
    const et_tick_ratio_t ratio = et::pal_ticks_to_ns_multiplier();
    const auto on_host_clock = [&](et_timestamp_t at) {
      const et_timestamp_t ago = ticks > at ? ticks - at : 0;
      const std::uint64_t ns =
          ago * ratio.numerator / std::max<std::uint64_t>(ratio.denominator, 1);
      return now > ns ? now - ns : 0;
    };
    log(name ? std::string_view(name) : std::string_view(), id, on_host_clock(start),
        on_host_clock(end), metadata, size);
  }

  void track_allocation(et::AllocatorID, std::size_t) override {}
  et::AllocatorID track_allocator(const char*) override { return 0; }
  et::Result<bool> log_evalue(const et::EValue&, et::LoggedEValueType) override { return false; }
  et::Result<bool> log_intermediate_output_delegate(const char*, et::DelegateDebugIntId,
                                                    const ::executorch::aten::Tensor&) override {
    return false;
  }
  et::Result<bool> log_intermediate_output_delegate(
      const char*, et::DelegateDebugIntId,
      const et::ArrayRef<::executorch::aten::Tensor>) override {
    return false;
  }
  et::Result<bool> log_intermediate_output_delegate(const char*, et::DelegateDebugIntId,
                                                    const int&) override {
    return false;
  }
  et::Result<bool> log_intermediate_output_delegate(const char*, et::DelegateDebugIntId,
                                                    const bool&) override {
    return false;
  }
  et::Result<bool> log_intermediate_output_delegate(const char*, et::DelegateDebugIntId,
                                                    const double&) override {
    return false;
  }
  void set_delegation_intermediate_output_filter(et::EventTracerFilterBase*) override {}

 private:
  static constexpr std::size_t max_open = 32;
  static constexpr std::size_t max_name = 96;

  /// An event that has begun. ExecuTorch's entry holds only a number and a time.
  struct Open {
    bool used = false;
    std::int64_t id = -1;
    std::size_t size = 0;
    std::array<char, max_name> name;
  };

  et::EventTracerEntry start(const char* name, std::int64_t id, et::ChainID chain,
                             et::DelegateDebugIdType type) {
    et::EventTracerEntry entry{};
    entry.event_id = -1;
    entry.chain_id = chain;
    entry.debug_handle = static_cast<et::DebugHandle>(id);
    entry.delegate_event_id_type = type;
    if (!tracer_) return entry;
    entry.start_time = tracer_->now(tracer_);
    for (std::size_t i = 0; i < max_open; ++i) {
      Open& slot = open_[i];
      if (slot.used) continue;
      slot.used = true;
      slot.id = id;
      const std::string_view text = name ? std::string_view(name) : std::string_view();
      slot.size = std::min(text.size(), max_name);
      std::copy_n(text.data(), slot.size, slot.name.data());
      entry.event_id = static_cast<std::int64_t>(i);
      break;
    }
    return entry;
  }

  void end(const et::EventTracerEntry& entry, const void* metadata, std::size_t size) {
    if (!tracer_) return;
    const std::uint64_t now = tracer_->now(tracer_);
    const bool has_slot =
        entry.event_id >= 0 && entry.event_id < static_cast<std::int64_t>(max_open);
    if (!has_slot) return log({}, -1, entry.start_time, now, metadata, size);
    Open& slot = open_[static_cast<std::size_t>(entry.event_id)];
    log({slot.name.data(), slot.size}, slot.id, entry.start_time, now, metadata, size);
    slot.used = false;
  }

  void log(std::string_view name, std::int64_t id, std::uint64_t start, std::uint64_t end,
           const void* metadata, std::size_t size) {
    tracer_->log_event(tracer_, name.data(), name.size(), id, start, end, metadata, size);
  }

  const tenon_tracer* tracer_ = nullptr;
  std::array<Open, max_open> open_{};
};

}}}  // namespace tenon::TENON_RELEASE::bridge::detail
