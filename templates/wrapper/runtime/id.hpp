// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace my_npu {

/// The name by which programs refer to the backend, in each `.pte` file. It is stated here alone:
/// the class, the tests and the kit's subject file use it.
inline constexpr std::string_view backend_id = "MyNpuBackend";

}  // namespace my_npu
