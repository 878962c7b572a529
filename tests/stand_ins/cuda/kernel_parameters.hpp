// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tenon::stand_in_cuda {

/// Sizes of the parameters of each kernel, by its name, in their order.
using KernelParameters = std::map<std::string, std::vector<std::uint32_t>>;

/// Reads the sizes from a complete compiled module in memory: an ELF file for a GPU, or a fat
/// binary with such files that are not compressed. Empty for other images.
KernelParameters kernel_parameters(const void* image);

}  // namespace tenon::stand_in_cuda
