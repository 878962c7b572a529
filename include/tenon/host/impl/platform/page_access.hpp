// SPDX-License-Identifier: MIT
#pragma once

namespace tenon::host::platform {

/// The accesses to a page that do not fault.
enum class PageAccess { none, read, read_and_write };

}  // namespace tenon::host::platform
