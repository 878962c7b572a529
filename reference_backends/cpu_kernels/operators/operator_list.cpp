// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iterator>

#include "kernels/fft/fft.hpp"
#include "kernels/fft/kissfft.hpp"
#include "kernels/selection/rank.hpp"
#include "operators/arguments.hpp"
#include "operators/linalg/lapack.hpp"
#include "operators/linalg/linalg.hpp"
#include "operators/multinomial.hpp"
#include "operators/resize.hpp"
#include "operators/unique.hpp"

namespace tenon::cpu_aoti {
namespace {

using enum ParameterType;

// The parameters of each operator follow its schema in PyTorch
// (aten/src/ATen/native/native_functions.yaml), in that order.
constexpr Parameter median_parameters[] = {
    {"self", tensor}, {"dim", integer}, {"keepdim", flag, true}};
template <bool skip_nan>
Status run_median(const OperatorArguments& arguments, OperatorResults results) {
  return median_along(arguments.tensor(0), arguments.integer(1), arguments.flag_or(2, false),
                      skip_nan, results[0], results[1]);
}

constexpr Parameter unique_parameters[] = {{"self", tensor},
                                           {"sorted", flag, true},
                                           {"return_inverse", flag, true},
                                           {"return_counts", flag, true}};
Status run_unique(const OperatorArguments& arguments, OperatorResults results) {
  // PyTorch sorts also when it is not asked to.
  return find_unique(arguments.tensor(0), true, arguments.flag_or(2, false),
                     arguments.flag_or(3, false), results);
}

constexpr Parameter consecutive_parameters[] = {{"self", tensor},
                                                {"return_inverse", flag, true},
                                                {"return_counts", flag, true},
                                                {"dim", integer, true}};
Status run_unique_consecutive(const OperatorArguments& arguments, OperatorResults results) {
  if (arguments.has(3)) {
    return find_unique_along(arguments.tensor(0), arguments.integer(3), false, results);
  }
  return find_unique(arguments.tensor(0), false, arguments.flag_or(1, false),
                     arguments.flag_or(2, false), results);
}

constexpr Parameter unique_dim_parameters[] = {{"self", tensor},
                                               {"dim", integer},
                                               {"sorted", flag, true},
                                               {"return_inverse", flag, true},
                                               {"return_counts", flag, true}};
Status run_unique_dim(const OperatorArguments& arguments, OperatorResults results) {
  return find_unique_along(arguments.tensor(0), arguments.integer(1), true, results);
}

constexpr Parameter bincount_parameters[] = {
    {"self", tensor}, {"weights", tensor, true}, {"minlength", integer, true}};
Status run_bincount(const OperatorArguments& arguments, OperatorResults results) {
  const ModelTensor* const weights = arguments.has(1) ? &arguments.tensor(1) : nullptr;
  return count_bins(arguments.tensor(0), weights, arguments.integer_or(2, 0), results[0]);
}

constexpr Parameter c2r_parameters[] = {
    {"self", tensor}, {"dim", integers}, {"normalization", integer}, {"last_dim_size", integer}};
Status run_fft_c2r(const OperatorArguments& arguments, OperatorResults results) {
  return transform_to_real(arguments.tensor(0), arguments.integers(1), arguments.integer(2),
                           arguments.integer(3), results[0]);
}

constexpr Parameter multinomial_parameters[] = {{"self", tensor},
                                                {"num_samples", integer},
                                                {"replacement", flag, true},
                                                {"generator", generator, true}};
Status run_multinomial(const OperatorArguments& arguments, OperatorResults results) {
  return draw_indices(arguments.tensor(0), arguments.integer(1), arguments.flag_or(2, false),
                      results[0]);
}

constexpr Parameter inverse_parameters[] = {{"A", tensor}, {"check_errors", flag, true}};
Status run_inverse(const OperatorArguments& arguments, OperatorResults results) {
  TENON_RETURN_IF_ERROR(invert(arguments.tensor(0), results));
  return arguments.flag_or(1, false) ? check_info(*results[1], "linalg.inv") : ok();
}

constexpr Parameter solve_parameters[] = {
    {"A", tensor}, {"B", tensor}, {"left", flag, true}, {"check_errors", flag, true}};
Status run_solve(const OperatorArguments& arguments, OperatorResults results) {
  TENON_RETURN_IF_ERROR(
      solve(arguments.tensor(0), arguments.tensor(1), arguments.flag_or(2, true), results));
  return arguments.flag_or(3, false) ? check_info(*results[3], "linalg.solve") : ok();
}

constexpr Parameter cholesky_parameters[] = {
    {"self", tensor}, {"upper", flag, true}, {"check_errors", flag, true}};
Status run_cholesky(const OperatorArguments& arguments, OperatorResults results) {
  TENON_RETURN_IF_ERROR(factor_cholesky(arguments.tensor(0), arguments.flag_or(1, false), results));
  return arguments.flag_or(2, false) ? check_info(*results[1], "linalg.cholesky") : ok();
}

constexpr Parameter qr_parameters[] = {{"A", tensor}, {"mode", text, true}};
Status run_qr(const OperatorArguments& arguments, OperatorResults results) {
  return factor_qr(arguments.tensor(0), arguments.text_or(1, "reduced"), results);
}

// The driver is for GPUs.
constexpr Parameter svd_parameters[] = {{"A", tensor},
                                        {"full_matrices", flag, true},
                                        {"compute_uv", flag, true},
                                        {"driver", text, true}};
Status run_svd(const OperatorArguments& arguments, OperatorResults results) {
  return factor_svd(arguments.tensor(0), arguments.flag_or(1, false), arguments.flag_or(2, true),
                    results);
}

constexpr Parameter determinant_parameters[] = {{"A", tensor}};
Status run_determinant(const OperatorArguments& arguments, OperatorResults results) {
  return find_determinant(arguments.tensor(0), results);
}

constexpr Parameter eigenvalue_parameters[] = {
    {"A", tensor}, {"UPLO", text, true}, {"compute_v", flag, true}};
Status run_eigenvalues(const OperatorArguments& arguments, OperatorResults results) {
  const std::string_view triangle = arguments.text_or(1, "L");
  return find_eigenvalues(arguments.tensor(0), triangle == "U" || triangle == "u",
                          arguments.flag_or(2, true), results);
}

constexpr Parameter resize_parameters[] = {{"self", tensor},
                                           {"output_size", integers},
                                           {"align_corners", flag},
                                           {"scales_h", number, true},
                                           {"scales_w", number, true}};
template <ResizeFilter filter>
Status run_resize(const OperatorArguments& arguments, OperatorResults results) {
  return resize_images(arguments.tensor(0),
                       {filter, arguments.integers(1), arguments.flag_or(2, false),
                        arguments.number(3), arguments.number(4)},
                       results[0]);
}

constexpr Parameter info_parameters[] = {
    {"info", tensor}, {"api_name", text}, {"is_matrix", flag, true}};
Status run_check_info(const OperatorArguments& arguments, OperatorResults) {
  return check_info(arguments.tensor(0), arguments.text_or(1, ""));
}

constexpr OperatorKernel kernels[] = {
    {"aten::_fft_c2r", c2r_parameters, 1, &run_fft_c2r, &fft::load},
    {"aten::_linalg_check_errors", info_parameters, 0, &run_check_info},
    {"aten::_linalg_det", determinant_parameters, 3, &run_determinant, &lapack::load},
    {"aten::_linalg_eigh", eigenvalue_parameters, 2, &run_eigenvalues, &lapack::load},
    {"aten::_linalg_solve_ex", solve_parameters, 4, &run_solve, &lapack::load},
    {"aten::_linalg_svd", svd_parameters, 3, &run_svd, &lapack::load},
    {"aten::_unique2", unique_parameters, 3, &run_unique},
    {"aten::_upsample_bicubic2d_aa", resize_parameters, 1, &run_resize<ResizeFilter::cubic>},
    {"aten::_upsample_bilinear2d_aa", resize_parameters, 1, &run_resize<ResizeFilter::linear>},
    {"aten::bincount", bincount_parameters, 1, &run_bincount},
    {"aten::linalg_cholesky_ex", cholesky_parameters, 2, &run_cholesky, &lapack::load},
    {"aten::linalg_inv_ex", inverse_parameters, 2, &run_inverse, &lapack::load},
    {"aten::linalg_qr", qr_parameters, 2, &run_qr, &lapack::load},
    {"aten::median.dim", median_parameters, 2, &run_median<false>},
    {"aten::multinomial", multinomial_parameters, 1, &run_multinomial},
    {"aten::nanmedian.dim", median_parameters, 2, &run_median<true>},
    {"aten::unique_consecutive", consecutive_parameters, 3, &run_unique_consecutive},
    {"aten::unique_dim", unique_dim_parameters, 3, &run_unique_dim},
};

static_assert(std::ranges::all_of(kernels, [](const OperatorKernel& kernel) {
  return kernel.parameters.size() <= max_parameters && kernel.num_results <= max_results;
}));

}  // namespace

std::span<const OperatorKernel> operator_kernels() noexcept { return kernels; }

const OperatorKernel* find_operator(std::string_view name) noexcept {
  const auto found = std::ranges::find(kernels, name, &OperatorKernel::name);
  return found == std::end(kernels) ? nullptr : &*found;
}

}  // namespace tenon::cpu_aoti
