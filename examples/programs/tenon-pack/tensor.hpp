// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/aot/program_data.hpp"
#include "tenon/core/result.hpp"

namespace tenon::pack {

/// Reads a tensor of a program from "DTYPE:SIZES[:dynamic]", such as "Float:8,16" or
/// "Half:1,512:dynamic". DTYPE is ExecuTorch's name. SIZES are numbers with commas between them,
/// none for a scalar; with "dynamic" they are the largest ones, and each call may have smaller
/// ones. The method owns the tensor's memory, whose place is not chosen yet.
///
/// errors: InvalidArgument; NotSupported for a dtype that `.pte` files cannot hold. The message
/// begins with the tensor's text.
[[nodiscard]] Result<aot::TensorValue> parse_tensor(std::string_view text);

/// The text of a tensor that `parse_tensor` returned, as it was parsed.
[[nodiscard]] std::string tensor_text(const aot::TensorValue& tensor);

/// Reads a list of tensors by `parse_tensor`. A failure names `list` first.
[[nodiscard]] Result<std::vector<aot::TensorValue>> parse_tensors(
    const std::vector<std::string>& texts, std::string_view list);

}  // namespace tenon::pack
