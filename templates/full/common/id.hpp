// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace my_npu {

/// The name by which programs refer to the backend, in each `.pte` file. Two files of data have the
/// id, too: `my_npu.json` and `test/subject.json`.
inline constexpr std::string_view backend_id = "MyNpuBackend";

}  // namespace my_npu
