// SPDX-License-Identifier: MIT
//
// The mixins of backends. A new one is added here, in both places; mixin.hpp says how it is made.
#pragma once

#include "tenon/backend/mixin.hpp"
#include "tenon/backend/mixins/cancel.hpp"
#include "tenon/backend/mixins/check_blob.hpp"
#include "tenon/backend/mixins/device_memory.hpp"
#include "tenon/backend/mixins/devices.hpp"
#include "tenon/backend/mixins/estimate.hpp"
#include "tenon/backend/mixins/events.hpp"
#include "tenon/backend/mixins/external_memory.hpp"
#include "tenon/backend/mixins/intermediates.hpp"
#include "tenon/backend/mixins/kernels.hpp"
#include "tenon/backend/mixins/memory_info.hpp"
#include "tenon/backend/mixins/options.hpp"
#include "tenon/backend/mixins/scheduling.hpp"
#include "tenon/backend/mixins/sequence.hpp"
#include "tenon/backend/mixins/sessions.hpp"
#include "tenon/backend/mixins/streams.hpp"

// Made in higher layers: aoti/aoti_backend.hpp and aot/backend_details.hpp.
struct tenon_aoti_export_v1;
struct tenon_preprocess_v1;

namespace tenon::inline TENON_RELEASE::detail {

/// The extensions of backends for which there is a mixin. Mistakes are reported in this order.
using ExtensionTables =
    TypeList<tenon_aoti_export_v1, tenon_options_v1, tenon_check_blob_v1, tenon_estimate_v1,
             tenon_memory_info_v1, tenon_sessions_v1, tenon_devices_v1, tenon_device_memory_v1,
             tenon_streams_v1, tenon_external_memory_v1, tenon_events_v1, tenon_cancel_v1,
             tenon_scheduling_v1, tenon_intermediates_v1, tenon_sequence_v1, tenon_kernels_v1,
             tenon_preprocess_v1>;

}  // namespace tenon::inline TENON_RELEASE::detail
