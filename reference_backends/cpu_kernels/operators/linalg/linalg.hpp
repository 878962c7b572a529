// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "operators/arguments.hpp"
#include "strided.hpp"
#include "tenon/core/result.hpp"

/// Factorisations of each matrix of a batch, in Float and Double. Matrices among the results have
/// their columns in memory one after the other, as PyTorch's have. `info` is LAPACK's: 0, or what
/// made a factorisation fail, which is no failure of the call.
namespace tenon::cpu_aoti {

/// results: inverse, info.
Status invert(const ModelTensor& self, OperatorResults results);

/// The solution of self X = right, whose batches are broadcast; a vector for each matrix where
/// `right` has the shape of one. In a batch of vectors the last two dimensions have changed places
/// in memory, as PyTorch's have. Without `left` the solution of X self = right, which is in
/// row-major order, as PyTorch's is; vectors are refused.
/// results: X, the triangles of self, its pivots, info.
Status solve(const ModelTensor& self, const ModelTensor& right, bool left, OperatorResults results);

/// results: the lower or upper triangle, info.
Status factor_cholesky(const ModelTensor& self, bool upper, OperatorResults results);

/// `mode` is "reduced", "complete" or "r". results: Q, R.
Status factor_qr(const ModelTensor& self, std::string_view mode, OperatorResults results);

/// results: U, the singular values, V transposed; the first and last without elements unless
/// `with_vectors`.
Status factor_svd(const ModelTensor& self, bool full, bool with_vectors, OperatorResults results);

/// results: determinant, the triangles of self, its pivots.
Status find_determinant(const ModelTensor& self, OperatorResults results);

/// Of symmetric matrices of which the lower or upper triangle is read. results: eigenvalues in
/// ascending order; eigenvectors, without elements unless `with_vectors`.
Status find_eigenvalues(const ModelTensor& self, bool upper, bool with_vectors,
                        OperatorResults results);

/// Fails when one of LAPACK's numbers is not 0, with the function that PyTorch names.
Status check_info(const ModelTensor& info, std::string_view function);

}  // namespace tenon::cpu_aoti
