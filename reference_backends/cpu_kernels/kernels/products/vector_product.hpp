// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/gemm.hpp"

namespace tenon::cpu_aoti {

/// True for a product that `multiply_by_vectors` computes and that oneDNN has nothing faster for: a
/// processor with AVX2, FMA and F16C, and rows or columns without gaps in B. With AVX2 alone it is
/// any product of BFloat16 or Half but small ones of more rows than columns, and one of Float whose
/// B does not fit the caches, where B is fixed and in columns or A has 16 rows; else one of
/// BFloat16 or Half with few rows in A.
[[nodiscard]] bool has_vector_product(const Product& p) noexcept;

/// C = alpha A B + beta C for a product for which `has_vector_product` is true. Reads each element
/// of B once for four rows, or from 16 rows on for 256, without a copy of B as floats; the sums are
/// floats, and each result is rounded once. errors: MemoryAllocationFailed, for the sums and the
/// packed rows of A.
Status multiply_by_vectors(const Product& p);

}  // namespace tenon::cpu_aoti
