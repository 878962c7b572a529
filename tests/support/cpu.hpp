// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "support/catch.hpp"

namespace tenon::test {

/// Whether this CPU has the AVX-512 instructions that code for `-march=x86-64-v4` may use.
inline bool has_avx512() {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

/// Whether the code inside of a fixture can run on this CPU; otherwise a warning says that it is
/// left out. These fixtures were exported on a machine with AVX-512, for that machine.
inline bool runs_here(std::string_view fixture) {
  constexpr std::array<std::string_view, 12> for_avx512{
      "cuda_embedding", "cuda_stateful", "cuda_two_methods", "metal_addmul",
      "metal_conv",     "metal_delta",   "metal_embedding",  "metal_experts",
      "metal_half",     "metal_mlp",     "metal_quantized",  "metal_stateful"};
  if (has_avx512() || std::ranges::find(for_avx512, fixture) == for_avx512.end()) return true;
  WARN("left out: the code of fixture " << fixture << " needs AVX-512, which this CPU lacks");
  return false;
}

}  // namespace tenon::test
