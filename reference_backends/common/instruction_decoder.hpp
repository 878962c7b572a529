// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aoti/library/code_features.hpp"

namespace tenon::aoti_common {

/// The decoder for `AotiBackend`: Zydis, which is loaded by name when it is first asked for. Null
/// where it is not installed, on other processors than x86-64, and in builds without its headers.
/// Threads: any.
[[nodiscard]] aoti::DecodeX86 instruction_decoder();

}  // namespace tenon::aoti_common
