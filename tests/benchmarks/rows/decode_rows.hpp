// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "groups.hpp"

namespace tenon::bench {

/// The cost of finding the CPU features that a model's library needs, compared with a bare loop of
/// the decoder over the same bytes. Empty where Zydis is not installed. The stock runtime has
/// nothing like it.
[[nodiscard]] std::vector<Row> decode_rows(const Setup& setup);

}  // namespace tenon::bench
