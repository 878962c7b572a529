// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/result.hpp"

namespace tenon::make_new {

/// A program (.pte) with other ids: `rename` is asked for each delegate's, and gives the one that
/// it gets. The flatbuffer is written anew, as ids differ in length; segments keep their bytes and
/// their alignment. InvalidProgram when `file` is not a program.
[[nodiscard]] Result<std::vector<std::byte>> rename_backends(
    std::span<const std::byte> file, const std::function<std::string(std::string_view)>& rename);

}  // namespace tenon::make_new
