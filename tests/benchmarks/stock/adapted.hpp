// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace tenon::bench::stock {

/// Registers the backends of a plugin in ExecuTorch through our adapter, for good.
void register_adapted(const std::string& plugin);

}  // namespace tenon::bench::stock
