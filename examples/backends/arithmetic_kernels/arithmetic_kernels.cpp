// SPDX-License-Identifier: MIT
// Kernels alone: two operators of PyTorch for float32 tensors of equal shapes.
#include <array>
#include <tenon/tenon.hpp>

namespace {

/// PyTorch's factor of the second summand, an integer or a real number.
tenon::Result<float> read_alpha(const tenon::Args& args, std::size_t index) {
  if (args.kind(index) == TENON_VALUE_INT) return static_cast<float>(*args.integer(index));
  TENON_TRY(const double alpha, args.real(index));
  return static_cast<float>(alpha);
}

class Arithmetic final : public tenon::Backend<Arithmetic>, public tenon::WithKernels<Arithmetic> {
 public:
  static constexpr std::string_view id = "ArithmeticKernels";
  static constexpr std::string_view description = "aten::add.out and aten::mul.out of float32";
  static constexpr std::int32_t priority = -10;  // Backends with more operators come first.
  // [kernel]
  static constexpr std::array<std::string_view, 2> operators{"aten::add.out", "aten::mul.out"};

  struct Kernel {
    bool multiplies;
    std::size_t out;  // Number of the output among the arguments.

    tenon::Status run(tenon::ExecutionContext&, tenon::Args args) {
      TENON_TRY(const auto a, args.tensor<const float>(0));
      TENON_TRY(const auto b, args.tensor<const float>(1));
      TENON_RETURN_IF_ERROR(args.resize(out, a.sizes()));
      TENON_TRY(const auto y, args.tensor<float>(out));
      if (!same_layout(a, b) || !same_layout(a, y)) {
        return tenon::error(tenon::Error::NotSupported, "expected equal shapes, found ",
                            tenon::shape_text(a.sizes()), " and ", tenon::shape_text(b.sizes()));
      }
      if (multiplies) {
        for (std::size_t i = 0; i < a.size(); ++i) y[i] = a[i] * b[i];
        return tenon::ok();
      }
      TENON_TRY(const float alpha, read_alpha(args, 2));
      for (std::size_t i = 0; i < a.size(); ++i) y[i] = a[i] + alpha * b[i];
      return tenon::ok();
    }
  };
  // [kernel]

  // add.out(self, other, alpha, out) and mul.out(self, other, out); each returns its output.
  tenon::Result<Kernel> create_kernel(std::string_view op, tenon::Args args) {
    const bool multiplies = op == "aten::mul.out";
    const std::size_t out = multiplies ? 2 : 3;
    TENON_RETURN_IF_ERROR(args.expect(out + 2));
    if (!multiplies) TENON_RETURN_IF_ERROR(read_alpha(args, 2));
    for (const std::size_t index : {std::size_t{0}, std::size_t{1}, out, out + 1}) {
      TENON_TRY(const auto tensor, args.tensor(index));
      if (tensor.scalar_type() == tenon::ScalarType::Float) continue;
      return tenon::error(tenon::Error::OperatorMissing, op, " is for dtype Float, argument ",
                          index, " has ", name_of(tensor.scalar_type()));
    }
    return Kernel{multiplies, out};
  }
};

}  // namespace

TENON_PLUGIN(Arithmetic);
