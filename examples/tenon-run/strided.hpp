// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tenon::run {

/// Copies a strided array to C order. `sizes` and `strides` (in elements) belong to `in`; `out` has
/// room for all elements of `item_size` bytes.
void gather(std::byte* out, const std::byte* in, std::span<const std::int64_t> sizes,
            std::span<const std::int64_t> strides, std::size_t item_size);

/// The way back: copies an array in C order to a strided one.
void scatter(std::byte* out, const std::byte* in, std::span<const std::int64_t> sizes,
             std::span<const std::int64_t> strides, std::size_t item_size);

}  // namespace tenon::run
