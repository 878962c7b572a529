// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "tenon/abi/tenon.h"

namespace tenon::inline TENON_RELEASE {

/// The ids of the extensions that a backend may have, of all that the headers declare.
inline constexpr std::array backend_extensions = {
    TENON_EXTENSION_AOTI_EXPORT,   TENON_EXTENSION_CANCEL,          TENON_EXTENSION_CHECK_BLOB,
    TENON_EXTENSION_DEVICE_MEMORY, TENON_EXTENSION_DEVICES,         TENON_EXTENSION_ESTIMATE,
    TENON_EXTENSION_EVENTS,        TENON_EXTENSION_EXTERNAL_MEMORY, TENON_EXTENSION_INTERMEDIATES,
    TENON_EXTENSION_KERNELS,       TENON_EXTENSION_MEMORY_INFO,     TENON_EXTENSION_OPTIONS,
    TENON_EXTENSION_PREPROCESS,    TENON_EXTENSION_SCHEDULING,      TENON_EXTENSION_SEQUENCE,
    TENON_EXTENSION_SESSIONS,      TENON_EXTENSION_STREAMS};

/// The id for which a host whose application admits libraries by a policy answers `get_extension`
/// with something other than null. No part of the boundary: isolated plugins and Tenon's own
/// backends ask for it. They then load no library by a path, and the variable TENON_WORKER does not
/// count.
inline constexpr const char* library_policy_id = "tenon.host.library_policy";

}  // namespace tenon::inline TENON_RELEASE
