// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/aot/compiler/link/needs_implementation.hpp"
#include "tenon/aot/program_data.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// Reads a tensor of a program from "DTYPE:SIZES[:dynamic]", such as "Float:8,16" or
/// "Half:1,512:dynamic". DTYPE is ExecuTorch's name. SIZES are numbers with commas between them,
/// none for a scalar; with "dynamic" they are the largest ones, and each call may have smaller
/// ones. The method owns the tensor's memory, whose place is not chosen yet.
///
/// errors: InvalidArgument; NotSupported for a dtype that `.pte` files cannot hold. The text begins
///         with `text`.
[[nodiscard]] Result<TensorValue> parse_tensor(std::string_view text);

/// Reads a list of tensors, as `parse_tensor`. A failure names `list` first.
[[nodiscard]] Result<std::vector<TensorValue>> parse_tensors(std::span<const std::string> texts,
                                                             std::string_view list);

/// The text that `parse_tensor` reads, of a tensor that it returned.
[[nodiscard]] std::string tensor_text(const TensorValue& tensor);

}}}  // namespace tenon::TENON_RELEASE::aot
