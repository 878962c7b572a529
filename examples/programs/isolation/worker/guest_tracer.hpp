// SPDX-License-Identifier: MIT
#pragma once

#include <time.h>

#include <cstdint>
#include <exception>
#include <mutex>

#include "boundary/messages.hpp"
#include "tenon/abi/host.h"

namespace tenon::isolated {

[[nodiscard]] inline std::uint64_t monotonic_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

/// Collects the events of one call, for its answer. It has the clock of the application's tracer:
/// both processes have CLOCK_MONOTONIC in common.
class GuestTracer : public tenon_tracer {
 public:
  GuestTracer() noexcept
      : tenon_tracer{sizeof(tenon_tracer), 0, &read_clock, &add_event, &add_counter} {}

  /// Begins a call: `ahead` is the difference between the two clocks.
  void begin(std::uint64_t ahead, bool has_counters) {
    const std::lock_guard lock(mutex_);
    ahead_ = ahead;
    log_counter = has_counters ? &add_counter : nullptr;
    events_.clear();
    count_ = 0;
  }
  /// Adds what was collected, and forgets it.
  void take(Writer& to) {
    const std::lock_guard lock(mutex_);
    to.put<std::uint64_t>(count_);
    to.put_array(events_.bytes().data(), events_.size());
    events_.clear();
    count_ = 0;
  }

 private:
  static GuestTracer& of(const tenon_tracer* self) noexcept {
    return *const_cast<GuestTracer*>(static_cast<const GuestTracer*>(self));
  }
  static std::uint64_t read_clock(const tenon_tracer* self) noexcept {
    return monotonic_ns() + of(self).ahead_;
  }
  static void add_event(const tenon_tracer* self, const char* name, std::uint64_t name_size,
                        std::int64_t debug_handle, std::uint64_t start_ns, std::uint64_t end_ns,
                        const void* metadata, std::uint64_t metadata_size) noexcept {
    of(self).add([&](Writer& to) {
      to.put<std::uint8_t>(0);
      to.put_bytes(name, name_size);
      to.put(debug_handle);
      to.put(start_ns);
      to.put(end_ns);
      to.put_bytes(metadata, metadata_size);
    });
  }
  static void add_counter(const tenon_tracer* self, const char* name, std::uint64_t name_size,
                          const char* unit, std::uint64_t unit_size, std::uint64_t at_ns,
                          double value) noexcept {
    of(self).add([&](Writer& to) {
      to.put<std::uint8_t>(1);
      to.put_bytes(name, name_size);
      to.put_bytes(unit, unit_size);
      to.put(at_ns);
      to.put(value);
    });
  }
  template <class Put>
  void add(const Put& put) noexcept {
    try {
      const std::lock_guard lock(mutex_);
      put(events_);
      ++count_;
    } catch (const std::exception&) {
      // Without memory the event is lost.
    }
  }

  std::mutex mutex_;
  std::uint64_t ahead_ = 0;
  std::uint64_t count_ = 0;
  Writer events_;
};

}  // namespace tenon::isolated
