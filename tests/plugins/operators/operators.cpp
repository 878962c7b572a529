// SPDX-License-Identifier: MIT
//
// Kernels of operators that tests define (tests/live/checks/packed_models.py has them in Python),
// for models of AOTInductor that call them. All are for Float:
//
//     tenon_test::shift(Tensor x, float by, bool twice=False, int[] dims=[], Tensor? other=None)
//         -> Tensor                        x + by, or x + 2 by; the sum of `dims` and `other` added
//     tenon_test::split.out(Tensor x, SymInt n, *, Tensor(a!) first, Tensor(b!) rest) -> (...)
//                                          the first n elements, and the others
//     tenon_test::pair(Tensor[] xs, int n, ScalarType? dtype=None) -> (Tensor, Tensor[])
//                                          the sum of the first one, and each multiplied by n
//     tenon_test::increase_(Tensor(a!) x, int by) -> ()
//     tenon_test::fail(Tensor x) -> Tensor fails when x is empty, or else gives zeros
//     tenon_test::column(Tensor x) -> Tensor    all elements, with the sizes [-1, 1]
//     tenon_test::resize_(Tensor(a!) x, int n) -> ()    gives its argument the sizes [n]
//     tenon_test::view(Tensor x) -> Tensor breaks the rule that results are not views
#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <tenon/tenon.hpp>
#include <vector>

namespace {

using tenon::Args;
using tenon::Error;
using tenon::Result;
using tenon::Status;

class OperatorKernels final : public tenon::Backend<OperatorKernels>,
                              public tenon::WithKernels<OperatorKernels> {
 public:
  static constexpr std::string_view id = "OperatorKernels";
  static constexpr std::string_view description = "operators that tests define";
  static constexpr std::array<std::string_view, 8> operators{
      "tenon_test::shift", "tenon_test::split.out", "tenon_test::pair",   "tenon_test::increase_",
      "tenon_test::fail",  "tenon_test::view",      "tenon_test::column", "tenon_test::resize_"};

  struct Kernel {
    Status (*run_operator)(const tenon::ExecutionContext& context, const Args& args);

    Status run(tenon::ExecutionContext& context, Args args) { return run_operator(context, args); }
  };

  Result<Kernel> create_kernel(std::string_view op, Args args) {
    struct Operator {
      std::string_view name;
      std::size_t num_args;
      Status (*run)(const tenon::ExecutionContext&, const Args&);
    };
    static constexpr Operator all[] = {{"shift", 6, &shift},   {"split.out", 6, &split},
                                       {"pair", 5, &pair},     {"increase_", 2, &increase},
                                       {"fail", 2, &fail},     {"view", 2, &view},
                                       {"column", 2, &column}, {"resize_", 2, &resize}};
    for (const Operator& one : all) {
      if (op.substr(12) != one.name) continue;
      TENON_RETURN_IF_ERROR(args.expect(one.num_args));
      TENON_RETURN_IF_ERROR(check_types(op, args));
      return Kernel{one.run};
    }
    return tenon::error(Error::OperatorMissing, op);
  }

 private:
  static Status check_types(std::string_view op, const Args& args) {
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (args.kind(i) != TENON_VALUE_TENSOR) continue;
      TENON_TRY(const auto tensor, args.tensor(i));
      if (tensor.scalar_type() != tenon::ScalarType::Float) {
        return tenon::error(Error::OperatorMissing, op, ": only of Float");
      }
    }
    return tenon::ok();
  }

  static Status shift(const tenon::ExecutionContext&, const Args& args) {
    TENON_TRY(const auto x, args.tensor<const float>(0));
    TENON_TRY(const double by, args.real(1));
    TENON_TRY(const bool twice, args.boolean(2));
    TENON_TRY(const Args dims, args.list(3));
    double sum = twice ? 2 * by : by;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      TENON_TRY(const auto dim, dims.integer(i));
      sum += static_cast<double>(dim);
    }
    TENON_RETURN_IF_ERROR(args.resize(5, x.sizes()));
    TENON_TRY(const auto out, args.tensor<float>(5));
    for (std::size_t i = 0; i < x.size(); ++i) out[i] = static_cast<float>(x[i] + sum);
    if (args.kind(4) == TENON_VALUE_NONE) return tenon::ok();
    TENON_TRY(const auto other, args.tensor<const float>(4));
    if (other.size() != x.size()) {
      return tenon::error(Error::InvalidArgument, "other: expected the sizes of x");
    }
    for (std::size_t i = 0; i < x.size(); ++i) out[i] += other[i];
    return tenon::ok();
  }

  static Status split(const tenon::ExecutionContext&, const Args& args) {
    TENON_TRY(const auto x, args.tensor<const float>(0));
    TENON_TRY(const auto n, args.integer(1));
    const auto size = static_cast<std::int64_t>(x.size());
    if (n == -1) return tenon::ok();  // Results as they were given.
    if (n < 0 || n > size) {
      return tenon::error(Error::InvalidArgument, "n: expected 0 to ", size, ", found ", n);
    }
    const std::int64_t rest_size = size - n;
    TENON_RETURN_IF_ERROR(args.resize(2, {&n, 1}));
    TENON_RETURN_IF_ERROR(args.resize(3, {&rest_size, 1}));
    TENON_TRY(const auto first, args.tensor<float>(2));
    TENON_TRY(const auto rest, args.tensor<float>(3));
    std::copy_n(x.begin(), n, first.begin());
    std::copy(x.begin() + n, x.end(), rest.begin());
    return tenon::ok();
  }

  static Status pair(const tenon::ExecutionContext& context, const Args& args) {
    TENON_TRY(const Args xs, args.list(0));
    TENON_TRY(const auto n, args.integer(1));
    TENON_TRY(const Args products, args.list(4));
    // Memory for one run.
    auto* const sums = context.temp_allocator().allocate_list<float>(xs.size() + 1);
    if (!sums || products.size() != xs.size()) {
      return tenon::error(Error::InvalidArgument, "expected a result for each of ", xs.size());
    }
    for (std::size_t i = 0; i < xs.size(); ++i) {
      TENON_TRY(const auto x, xs.tensor<const float>(i));
      TENON_RETURN_IF_ERROR(products.resize(i, x.sizes()));
      TENON_TRY(const auto out, products.tensor<float>(i));
      sums[i] = 0;
      for (std::size_t k = 0; k < x.size(); ++k) {
        sums[i] += x[k];
        out[k] = x[k] * static_cast<float>(n);
      }
    }
    TENON_TRY(const auto sum, args.tensor<float>(3));
    sum[0] = sums[0];
    return tenon::ok();
  }

  static Status increase(const tenon::ExecutionContext&, const Args& args) {
    TENON_TRY(const auto x, args.tensor<float>(0));
    TENON_TRY(const auto by, args.integer(1));
    for (float& element : x) element += static_cast<float>(by);
    return tenon::ok();
  }

  static Status fail(const tenon::ExecutionContext&, const Args& args) {
    TENON_TRY(const auto x, args.tensor<const float>(0));
    if (x.size() == 0) return tenon::error(Error::InvalidArgument, "x: expected an element");
    TENON_RETURN_IF_ERROR(args.resize(1, x.sizes()));
    TENON_TRY(const auto out, args.tensor<float>(1));
    std::fill(out.begin(), out.end(), 0.0f);
    return tenon::ok();
  }

  static Status column(const tenon::ExecutionContext&, const Args& args) {
    TENON_TRY(const auto x, args.tensor<const float>(0));
    const std::array<std::int64_t, 2> sizes{static_cast<std::int64_t>(x.size()), 1};
    TENON_RETURN_IF_ERROR(args.resize(1, sizes));
    TENON_TRY(const auto out, args.tensor<float>(1));
    std::copy(x.begin(), x.end(), out.begin());
    return tenon::ok();
  }

  static Status resize(const tenon::ExecutionContext&, const Args& args) {
    TENON_TRY(const auto n, args.integer(1));
    return args.resize(0, {&n, 1});
  }

  static Status view(const tenon::ExecutionContext&, const Args& args) {
    args.raw()[1]->as.tensor->dl.data = args.raw()[0]->as.tensor->dl.data;
    return tenon::ok();
  }
};

}  // namespace

TENON_PLUGIN(OperatorKernels);
