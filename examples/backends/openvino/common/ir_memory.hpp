// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace openvino_backend {

/// The most bytes of tensors that a run of the IR needs at one time besides its inputs, outputs and
/// constants: layers run in the order of their numbers, and a tensor is kept up to its last reader.
/// Nothing when a size is dynamic, or for XML that is not as `write_xml` makes it.
[[nodiscard]] std::optional<std::uint64_t> peak_bytes(std::string_view xml);

}  // namespace openvino_backend
