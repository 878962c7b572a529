// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/core/result.hpp"

namespace tenon::metal_aoti {

/// Makes the shims visible to dyld in the flat namespace of the process. Once per process.
///
/// errors: InvalidState, with the name of the image, when another image such as libtorch exports
/// functions of these names: models would call those.
[[nodiscard]] Status publish_flat_shims();

}  // namespace tenon::metal_aoti
