// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "kit/boundary/watched_backend.hpp"

namespace tenon::inline TENON_RELEASE::conformance::detail {

/// A backend's extensions as `Boundary` shows them to a host: the same abilities, with each call
/// watched. An extension that is not in the headers is not shown, because its functions would get
/// pointers that are not the plugin's own.
class WatchedExtensions {
 public:
  /// The table for a host, for the plugin's table `theirs` of `id`, which `own` keeps; null for an
  /// unknown id. The same one each time; valid as long as this.
  [[nodiscard]] const void* wrap(ExtensionTables& own, std::string_view id, const void* theirs);

 private:
  tenon_cancel_v1 shown_cancel_{};
  tenon_check_blob_v1 shown_check_blob_{};
  tenon_device_memory_v1 shown_device_memory_{};
  tenon_devices_v1 shown_devices_{};
  tenon_estimate_v1 shown_estimate_{};
  tenon_events_v1 shown_events_{};
  tenon_external_memory_v1 shown_external_memory_{};
  tenon_intermediates_v1 shown_intermediates_{};
  tenon_kernels_v1 shown_kernels_{};
  tenon_memory_info_v1 shown_memory_info_{};
  tenon_options_v1 shown_options_{};
  tenon_preprocess_v1 shown_preprocess_{};
  tenon_scheduling_v1 shown_scheduling_{};
  tenon_sequence_v1 shown_sequence_{};
  tenon_sessions_v1 shown_sessions_{};
  tenon_streams_v1 shown_streams_{};
};

}  // namespace tenon::inline TENON_RELEASE::conformance::detail
