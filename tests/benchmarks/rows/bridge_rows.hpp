// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "groups.hpp"

namespace tenon::bench {

/// The group "adapter": the stock runtime calls a backend of its own, and ours through the adapter.
[[nodiscard]] std::vector<Row> adapter_rows(const Setup& setup);

/// The group "bridge": backends and kernels of the wheel in the stock runtime, and in our host
/// through plugins.
[[nodiscard]] std::vector<Row> bridge_rows(const Setup& setup);

}  // namespace tenon::bench
