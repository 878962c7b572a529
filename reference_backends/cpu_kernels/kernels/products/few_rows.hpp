// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/gemm.hpp"

namespace tenon::cpu_aoti {

/// True for a product that `multiply_few_rows` computes and that oneDNN has nothing faster for: of
/// BFloat16 or Half, or of Float with a fixed B in columns, few rows in A, rows or columns without
/// gaps in B, and a processor with AVX2, FMA and F16C.
[[nodiscard]] bool has_few_rows(const Product& p) noexcept;

/// C = alpha A B + beta C for a product for which `has_few_rows` is true. Reads each element of B
/// once for four rows, without a copy of B as floats; the sums are floats, and each result is
/// rounded once. errors: MemoryAllocationFailed, for the sums.
Status multiply_few_rows(const Product& p);

}  // namespace tenon::cpu_aoti
