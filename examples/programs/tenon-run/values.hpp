// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "tenon/abi/tensor.h"

namespace tenon::run {

/// dtype and shape of a tensor ("Float [1, 3]"), else the kind and the length ("ListInt [4]").
[[nodiscard]] std::string type_text(const tenon_value& value);

/// The value for a person, in one line: the first elements of a tensor or list, text in quotes. At
/// most `left` numbers and texts, which is lowered by those printed; "..." is in place of the rest.
/// Costs what is printed, however large the value is.
[[nodiscard]] std::string value_text(const tenon_value& value, std::uint64_t& left);

}  // namespace tenon::run
