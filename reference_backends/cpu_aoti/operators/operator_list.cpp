// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iterator>

#include "kernels/fft/fft.hpp"
#include "kernels/selection/rank.hpp"
#include "operators/arguments.hpp"
#include "operators/unique.hpp"

namespace tenon::cpu_aoti {
namespace {

using enum ParameterType;

// The parameters of each operator are those of its schema in PyTorch
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
    return error(Error::NotSupported, "dim ", arguments.integer(3), ": expected none");
  }
  return find_unique(arguments.tensor(0), false, arguments.flag_or(1, false),
                     arguments.flag_or(2, false), results);
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

constexpr OperatorKernel kernels[] = {
    {"aten::_fft_c2r", c2r_parameters, 1, &run_fft_c2r},
    {"aten::_unique2", unique_parameters, 3, &run_unique},
    {"aten::bincount", bincount_parameters, 1, &run_bincount},
    {"aten::median.dim", median_parameters, 2, &run_median<false>},
    {"aten::nanmedian.dim", median_parameters, 2, &run_median<true>},
    {"aten::unique_consecutive", consecutive_parameters, 3, &run_unique_consecutive},
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
