// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "metal_context.hpp"

namespace tenon::metal_aoti {

/// Names of environment variables; ExecuTorch's Metal backend reads the same.
inline constexpr const char* pool_size_variable = "ET_METAL_BUFFER_POOL_SIZE_MB";
inline constexpr const char* flush_interval_variable = "ET_METAL_FLUSH_INTERVAL";

/// What an option has when it is not set: the environment counts, and then a value of the backend.
inline constexpr std::int64_t not_set = -1;
inline constexpr std::int64_t initial_pool_size = 256;

/// Kernels after which work is handed to a GPU of that architecture: ExecuTorch's numbers by the
/// last letter of the name, which tells phones (p), base models (g), and larger ones.
[[nodiscard]] std::uint64_t flush_interval_for(std::string_view architecture) noexcept;

/// Reads the settings from options, from the environment where an option is not set, and from what
/// suits the device where that is not set either.
/// errors: InvalidArgument when a number is no number or out of range, with its name.
[[nodiscard]] Result<ContextSettings> read_settings(std::int64_t pool_size_mb,
                                                    std::int64_t flush_interval,
                                                    std::string_view architecture);

}  // namespace tenon::metal_aoti
