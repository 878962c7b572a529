// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>

#include "device/metal_device.hpp"

namespace tenon::metal_aoti {

/// A point in the work of an instance, or of another owner: a shared event has a value, or a larger
/// one, when it is reached.
///
/// Threads: any.
struct MetalMark {
  std::shared_ptr<MetalEvent> event{};  ///< Null: nothing is marked.
  std::uint64_t value = 0;
  /// The last run before it, or null. It says what failed, which an event does not.
  std::shared_ptr<MetalWork> last_run{};

  /// Waits until it is reached, and returns the failure of the last run, each time.
  [[nodiscard]] Status wait() const {
    // After a failure Metal does not promise that a later command buffer sets the event.
    if (last_run) TENON_RETURN_IF_ERROR(last_run->wait());
    if (event) event->wait(value);
    return ok();
  }
  [[nodiscard]] bool is_reached() const {
    return !event || event->signaled_value() >= value || (last_run && last_run->has_failed());
  }
};

}  // namespace tenon::metal_aoti
