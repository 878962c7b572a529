// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "tenon/abi/tensor.h"
#include "tenon/host/arrays/array.hpp"

namespace tenon::run {

/// dtype and shape of a tensor ("Float [1, 3]"), else the kind and the length ("ListInt [4]").
[[nodiscard]] std::string type_text(const tenon_value& value);

/// The first elements, in one line.
[[nodiscard]] std::string array_text(const host::ArrayView& array);

/// The value for a person, in one line: the first elements of a tensor or list, text in quotes.
[[nodiscard]] std::string value_text(const tenon_value& value);

}  // namespace tenon::run
