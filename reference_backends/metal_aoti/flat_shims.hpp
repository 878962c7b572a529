// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/core/result.hpp"

namespace tenon::metal_aoti {

/// Makes the functions for models visible where dyld looks for them, in the flat name space of the
/// process. Done once.
///
/// errors: InvalidState when another image, such as libtorch, has made functions of these names
/// visible before: models would call those. It names the image.
[[nodiscard]] Status publish_flat_shims();

}  // namespace tenon::metal_aoti
