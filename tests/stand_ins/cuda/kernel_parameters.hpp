// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tenon::stand_in_cuda {

/// The layout of a kernel, from its file.
struct KernelLayout {
  std::vector<std::uint32_t> sizes;  ///< Of its parameters, in their order.
  std::uint64_t shared_bytes = 0;    ///< Of a block, without the bytes that a launch adds.
};
using KernelParameters = std::map<std::string, KernelLayout>;

/// Reads the layouts from a complete compiled module in memory: an ELF file for a GPU, or a fat
/// binary with such files that are not compressed. Empty for other images.
KernelParameters kernel_parameters(const void* image);

/// What the driver's answer is when it loads a file for a GPU, a fat binary, or the text of PTX:
/// success, 1 for none of these, 209 for none of the device, 222 for PTX of a newer CUDA. Versions
/// are numbers of cuDriverGetVersion, capabilities have no point.
int check_image(const void* image, int driver_version, int capability);

}  // namespace tenon::stand_in_cuda
