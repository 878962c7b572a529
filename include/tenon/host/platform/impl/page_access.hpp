// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::platform {

/// The accesses to a page that do not fault.
enum class PageAccess { none, read, read_and_write };

}}}  // namespace tenon::TENON_RELEASE::host::platform
