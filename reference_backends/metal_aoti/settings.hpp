// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "device/metal_context.hpp"

namespace tenon::metal_aoti {

/// Names of environment variables; ExecuTorch's Metal backend reads the same.
inline constexpr const char* pool_size_variable = "ET_METAL_BUFFER_POOL_SIZE_MB";
inline constexpr const char* flush_interval_variable = "ET_METAL_FLUSH_INTERVAL";

/// Value of an option that is not set: the environment applies, and then the backend's default.
inline constexpr std::int64_t not_set = -1;
inline constexpr std::int64_t initial_pool_size = 256;

/// Number of kernels after which work is submitted to a GPU of that architecture: ExecuTorch's
/// numbers by the last letter of the name, for phones (p), base models (g), and larger ones.
[[nodiscard]] std::uint64_t flush_interval_for(std::string_view architecture) noexcept;

/// Reads the settings from the options, else from the environment, else from the device's defaults.
/// errors: InvalidArgument, with the name, when a value is not a number or out of range.
[[nodiscard]] Result<ContextSettings> read_settings(std::int64_t pool_size_mb,
                                                    std::int64_t flush_interval,
                                                    std::string_view architecture);

}  // namespace tenon::metal_aoti
