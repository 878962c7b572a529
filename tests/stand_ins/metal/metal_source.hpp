// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/result.hpp"

namespace tenon::metal_stand_in {

/// One kernel that was found in Metal source.
struct KernelEntry {
  std::string name;
  unsigned num_buffers = 0;          ///< Largest index of a buffer plus one.
  std::uint64_t max_threads = 1024;  ///< For each threadgroup.
};

/// Metal source as C++ that `stand_in_metal.hpp` completes.
struct TranslatedSource {
  std::string text;
  std::vector<KernelEntry> kernels;
};

/// Makes threadgroup variables of kernels shared, and adds for each kernel a C function that calls
/// it for one thread. The compiler handles the rest.
/// errors: InvalidProgram for a kernel with unsupported parameters.
[[nodiscard]] Result<TranslatedSource> translate(std::string_view source);

}  // namespace tenon::metal_stand_in
