// SPDX-License-Identifier: MIT
// Of every build.
#include "kernels/vectors/vector_level.hpp"

#include "tenon/aoti/library/model_requirements.hpp"

namespace tenon::cpu_aoti {
namespace {

VectorLevel find_level() noexcept {
#if defined(__x86_64__)
  using aoti::cpu_supports;
  if (!cpu_supports("avx2") || !cpu_supports("fma") || !cpu_supports("f16c")) {
    return VectorLevel::baseline;
  }
  if (!cpu_supports("avx512f") || !cpu_supports("avx512bw") || !cpu_supports("avx512dq") ||
      !cpu_supports("avx512vl")) {
    return VectorLevel::avx2;
  }
  if (!cpu_supports("avx512_vnni")) return VectorLevel::avx512;
  return cpu_supports("avx512_bf16") ? VectorLevel::bfloat16 : VectorLevel::vnni;
#else
  return VectorLevel::baseline;
#endif
}

}  // namespace

VectorLevel vector_level() noexcept {
  static const VectorLevel level = find_level();
  return level;
}

}  // namespace tenon::cpu_aoti
