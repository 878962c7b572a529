// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "tenon/aoti/library/code_features.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/core/result.hpp"

namespace tenon::compile {

/// The features that a program names for its library (`aot::AotiModel::cpu_features`).
///
/// `list` is the argument of --cpu-features, names with commas between them; it is returned without
/// repetitions and empty names. Each must be a feature of the machine that `library` is an ELF file
/// for: x86-64, where levels of the psABI are names as well, or arm64. All that `decode` finds in
/// the instructions must be in it, or in one of its levels.
///
/// Without a list, what `decode` finds; nothing where that is not known: without a decoder, and
/// for all but x86-64.
///
/// errors: InvalidArgument, which names the list, what is wrong with it, and what was expected.
[[nodiscard]] Result<std::optional<std::string>> find_cpu_features(
    Bytes library, const std::optional<std::string>& list, aoti::DecodeX86 decode);

}  // namespace tenon::compile
