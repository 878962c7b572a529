// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include "device/metal_context.hpp"
#include "device/metal_mark.hpp"
#include "tenon/abi/native_handle.h"

namespace tenon::metal_aoti {

/// An event of "tenon.events/1": a mark of an instance, or a foreign event.
///
/// Threads: `wait` and `query` at the same time; otherwise one at a time.
class Event {
 public:
  Event() = default;
  /// A foreign event. errors: InvalidArgument without a shared event.
  [[nodiscard]] static Result<Event> import(const tenon_metal_event& handle) {
    if (!handle.shared_event) {
      return error(Error::InvalidArgument, "expected an MTLSharedEvent, found null");
    }
    TENON_TRY(const auto device, system_device());
    Event out;
    out.mark_ = {device->device().use_event(handle.shared_event), handle.value, nullptr};
    out.handle_ = handle;
    out.is_own_ = false;
    return out;
  }

  /// From now on it marks the runs of `context` so far.
  [[nodiscard]] Status record(MetalContext& context) {
    if (!is_own_) return error(Error::InvalidArgument, "a foreign event is recorded by its owner");
    TENON_TRY(mark_, context.mark());
    handle_ = {mark_.event->handle(), nullptr, mark_.value};
    return ok();
  }
  [[nodiscard]] Status wait() const { return mark_.wait(); }
  [[nodiscard]] bool query() const { return mark_.is_reached(); }
  /// Later runs of `context` begin after it.
  [[nodiscard]] Status hold(MetalContext& context) const { return context.hold(mark_); }
  /// Valid as long as this, at this place. Null before the first `record`.
  [[nodiscard]] tenon_metal_event* handle() noexcept { return mark_.event ? &handle_ : nullptr; }

 private:
  MetalMark mark_;
  tenon_metal_event handle_{};
  bool is_own_ = true;
};

}  // namespace tenon::metal_aoti
