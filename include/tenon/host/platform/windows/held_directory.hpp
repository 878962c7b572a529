// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "tenon/host/platform/windows/api.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::platform {

/// A directory that was walked to, and those that it is in.
using HeldDirectory = std::vector<Handle>;

}}}  // namespace tenon::TENON_RELEASE::host::platform
