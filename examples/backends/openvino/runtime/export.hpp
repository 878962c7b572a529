// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <tenon/tenon.hpp>
#include <vector>

#include "runtime/library.hpp"

namespace openvino_backend {

/// The bytes that `ov_compiled_model_export_model` writes. It takes only the path of a file: one
/// without a name, in the directory for temporary files.
[[nodiscard]] tenon::Result<std::vector<std::byte>> export_model(const Api& api,
                                                                 const ov_compiled_model* model);

}  // namespace openvino_backend
