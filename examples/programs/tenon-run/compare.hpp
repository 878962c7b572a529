// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "tenon/host/arrays/compare_arrays.hpp"

namespace tenon::run {

/// The verdict for a person, without a line feed at the end: one line when equal, else several.
[[nodiscard]] std::string report(const host::Comparison& comparison);

}  // namespace tenon::run
