// SPDX-License-Identifier: MIT
//
// The mixins of backends. mixin.hpp says how one is made. The mixins for tenon_aoti_export_v1 and
// tenon_preprocess_v1 are in higher layers: aoti/aoti_backend.hpp and aot/backend_details.hpp.
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
