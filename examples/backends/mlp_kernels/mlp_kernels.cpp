// SPDX-License-Identifier: MIT
// Kernels of a network: what ExecuTorch leaves of a multi-layer perceptron when no backend takes
// it, for float32. A kernel finds the sizes of its results, as the sizes of its inputs may change.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tenon/tenon.hpp>
#include <utility>

namespace {

using tenon::Args;
using tenon::Error;
using tenon::Result;
using tenon::Status;
using Sizes = std::span<const std::int64_t>;

/// Argument `index` with its dimensions in their own order in memory.
template <class T>
Result<tenon::Tensor<T>> contiguous(const Args& args, std::size_t index) {
  TENON_TRY(const auto tensor, args.tensor<T>(index));
  if (tensor.is_contiguous()) return tensor;
  return tenon::error(Error::NotSupported, "argument ", index,
                      ": expected dimensions in their own order in memory");
}

/// `dim`, from -rank on, as PyTorch counts.
Result<std::size_t> read_dim(std::int64_t dim, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  if (dim >= -count && dim < count) return static_cast<std::size_t>(dim < 0 ? dim + count : dim);
  return tenon::error(Error::InvalidArgument, "dimension ", dim, ": expected -", count, " to ",
                      count - 1);
}

/// A factor that is an integer or a real number.
Result<float> read_factor(const Args& args, std::size_t index) {
  if (args.kind(index) == TENON_VALUE_INT) return static_cast<float>(*args.integer(index));
  TENON_TRY(const double factor, args.real(index));
  return static_cast<float>(factor);
}

/// permute_copy.out(self, int[] dims, *, out)
Status permute_copy(const Args& args) {
  TENON_TRY(const auto x, contiguous<const float>(args, 0));
  TENON_TRY(const Args dims, args.list(1));
  const std::size_t rank = x.sizes().size();
  TENON_RETURN_IF_ERROR(dims.expect(rank));
  std::array<std::int64_t, tenon::max_rank> own{}, sizes{}, strides{}, at{};
  for (std::size_t d = rank, step = 1; d-- > 0; step *= static_cast<std::size_t>(x.sizes()[d])) {
    own[d] = static_cast<std::int64_t>(step);
  }
  std::array<bool, tenon::max_rank> is_taken{};
  for (std::size_t d = 0; d < rank; ++d) {
    TENON_TRY(const std::int64_t given, dims.integer(d));
    TENON_TRY(const std::size_t from, read_dim(given, rank));
    if (std::exchange(is_taken[from], true)) {
      return tenon::error(Error::InvalidArgument, "argument 1: dimension ", given, " comes twice");
    }
    sizes[d] = x.sizes()[from];
    strides[d] = own[from];
  }
  TENON_RETURN_IF_ERROR(args.resize(2, Sizes(sizes).first(rank)));
  TENON_TRY(const auto y, contiguous<float>(args, 2));
  std::int64_t place = 0;
  for (float& value : y) {
    value = x[static_cast<std::size_t>(place)];
    for (std::size_t d = rank; d-- > 0;) {
      place += strides[d];
      if (++at[d] < sizes[d]) break;
      place -= std::exchange(at[d], 0) * strides[d];
    }
  }
  return tenon::ok();
}

/// addmm.out(self, mat1, mat2, *, beta, alpha, out)
Status addmm(const Args& args) {
  TENON_TRY(const auto bias, contiguous<const float>(args, 0));
  TENON_TRY(const auto a, contiguous<const float>(args, 1));
  TENON_TRY(const auto b, contiguous<const float>(args, 2));
  TENON_TRY(const float beta, read_factor(args, 3));
  TENON_TRY(const float alpha, read_factor(args, 4));
  const Sizes of_a = a.sizes(), of_b = b.sizes(), of_bias = bias.sizes();
  const bool fit = of_a.size() == 2 && of_b.size() == 2 && of_a[1] == of_b[0];
  const std::array<std::int64_t, 2> sizes{fit ? of_a[0] : 0, fit ? of_b[1] : 0};
  const bool is_row = of_bias.size() == 1 && of_bias[0] == sizes[1];
  if (!fit || (!is_row && !std::ranges::equal(of_bias, sizes))) {
    return tenon::error(Error::NotSupported, "expected [N] or [M, N], [M, K] and [K, N], found ",
                        tenon::shape_text(of_bias), ", ", tenon::shape_text(of_a), " and ",
                        tenon::shape_text(of_b));
  }
  TENON_RETURN_IF_ERROR(args.resize(5, sizes));
  TENON_TRY(const auto y, contiguous<float>(args, 5));
  const auto columns = static_cast<std::size_t>(sizes[1]),
             inner = static_cast<std::size_t>(of_a[1]);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t row = i / columns, column = i % columns;
    float sum = 0;
    for (std::size_t k = 0; k < inner; ++k) sum += a[row * inner + k] * b[k * columns + column];
    y[i] = alpha * sum;
    if (beta != 0) y[i] += beta * bias[is_row ? column : i];  // As in PyTorch, 0 ignores a NaN.
  }
  return tenon::ok();
}

/// relu.out(self, *, out)
Status relu(const Args& args) {
  TENON_TRY(const auto x, contiguous<const float>(args, 0));
  TENON_RETURN_IF_ERROR(args.resize(1, x.sizes()));
  TENON_TRY(const auto y, contiguous<float>(args, 1));
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] < 0 ? 0 : x[i];  // NaN stays.
  return tenon::ok();
}

/// _softmax.out(self, dim, half_to_float, *, out)
Status softmax(const Args& args) {
  TENON_TRY(const auto x, contiguous<const float>(args, 0));
  TENON_TRY(const std::int64_t given, args.integer(1));
  const Sizes sizes = x.sizes();
  TENON_TRY(const std::size_t dim, read_dim(given, sizes.size()));
  TENON_RETURN_IF_ERROR(args.resize(3, sizes));
  TENON_TRY(const auto y, contiguous<float>(args, 3));
  const auto count = static_cast<std::size_t>(sizes[dim]);
  std::size_t step = 1;
  for (const std::int64_t size : sizes.subspan(dim + 1)) step *= static_cast<std::size_t>(size);
  for (std::size_t i = 0; count != 0 && i < x.size() / count; ++i) {
    const std::size_t first = i / step * step * count + i % step, end = first + count * step;
    float most = x[first], sum = 0;
    for (std::size_t at = first; at < end; at += step) most = std::max(most, x[at]);
    for (std::size_t at = first; at < end; at += step) sum += y[at] = std::exp(x[at] - most);
    for (std::size_t at = first; at < end; at += step) y[at] /= sum;
  }
  return tenon::ok();
}

class MlpKernels final : public tenon::Backend<MlpKernels>, public tenon::WithKernels<MlpKernels> {
 public:
  static constexpr std::string_view id = "MlpKernels";
  static constexpr std::string_view description = "the operators of a perceptron, of float32";
  static constexpr std::int32_t priority = -10;  // Backends with faster kernels come first.
  static constexpr std::array<std::string_view, 4> operators{
      "aten::permute_copy.out", "aten::addmm.out", "aten::relu.out", "aten::_softmax.out"};

  struct Kernel {
    Status (*run_operator)(const Args& args);

    Status run(tenon::ExecutionContext&, Args args) { return run_operator(args); }
  };

  Result<Kernel> create_kernel(std::string_view op, Args args) {
    struct Operator {
      std::size_t num_tensors;  // Of the inputs, which come first.
      std::size_t num_args;     // With the output, and again what is returned.
      Status (*run)(const Args&);
    };
    const Operator found = op == operators[0]   ? Operator{1, 4, permute_copy}
                           : op == operators[1] ? Operator{3, 7, addmm}
                           : op == operators[2] ? Operator{1, 3, relu}
                                                : Operator{1, 5, softmax};
    TENON_RETURN_IF_ERROR(args.expect(found.num_args));
    for (std::size_t i = 0; i < found.num_args; ++i) {
      if (i >= found.num_tensors && i + 2 < found.num_args) continue;
      TENON_TRY(const auto tensor, args.tensor(i));
      if (tensor.scalar_type() == tenon::ScalarType::Float) continue;
      return tenon::error(Error::OperatorMissing, op, " is for dtype Float, argument ", i, " has ",
                          name_of(tensor.scalar_type()));
    }
    return Kernel{found.run};
  }
};

}  // namespace

TENON_PLUGIN(MlpKernels);
