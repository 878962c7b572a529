// SPDX-License-Identifier: MIT
//
// Runs the blobs of ExecuTorch's own demo backend. Each instruction takes the result of the one
// before it, and the first one the first input; further operands are the next inputs in order. So
// [mm, add] on (a, x, b, out) computes out = mm(a, x) + b.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <tenon/tenon.hpp>
#include <utility>
#include <vector>

#include "demo_blob.hpp"

namespace {

using demo::Instruction;
using demo::Op;
using tenon::Error;
using tenon::Status;
using tenon::Tensor;

constexpr std::string_view op_name(Op op) {
  switch (op) {
    case Op::add:
      return "aten.add.Tensor";
    case Op::mul:
      return "aten.mul.Tensor";
    case Op::mm:
      return "aten.mm.default";
    default:
      return "aten.sin.default";
  }
}

/// Values on their way from one instruction to the next. Rows and columns count for `mm` alone.
struct Operand {
  std::span<const float> values;
  std::int64_t rows;
  std::int64_t columns;
};

tenon::Result<Operand> load(const tenon::Args& args, std::size_t index) {
  TENON_TRY(const auto tensor, args.tensor(index, tenon::ScalarType::Float, tenon::Access::Read));
  const bool is_matrix = tensor.rank() == 2;
  return Operand{{static_cast<const float*>(tensor.data()), tensor.numel()},
                 is_matrix ? tensor.sizes()[0] : 0,
                 is_matrix ? tensor.sizes()[1] : 0};
}

Status multiply(const Operand& a, const Operand& b, std::span<float> out) {
  if (a.rows == 0 || b.rows == 0 || a.columns != b.rows ||
      static_cast<std::int64_t>(out.size()) != a.rows * b.columns) {
    return tenon::error(Error::InvalidArgument, "aten.mm: expected [n, k] and [k, m], found [",
                        a.rows, ", ", a.columns, "] and [", b.rows, ", ", b.columns, "]");
  }
  const auto k_size = static_cast<std::size_t>(a.columns);
  const auto m_size = static_cast<std::size_t>(b.columns);
  for (std::size_t n = 0; n < static_cast<std::size_t>(a.rows); ++n) {
    for (std::size_t m = 0; m < m_size; ++m) {
      float sum = 0;
      for (std::size_t k = 0; k < k_size; ++k) {
        sum += a.values[n * k_size + k] * b.values[k * m_size + m];
      }
      out[n * m_size + m] = sum;
    }
  }
  return tenon::ok();
}

class BackendWithCompilerDemo final : public tenon::Backend<BackendWithCompilerDemo>,
                                      public tenon::WithCheckBlob<BackendWithCompilerDemo> {
 public:
  static constexpr std::string_view id = "BackendWithCompilerDemo";
  static constexpr std::string_view tags = "demo,cpu";
  static constexpr std::string_view description =
      "ExecuTorch's demo backend: add, mul, mm and sin on float32";

  /// Largest value that ExecuTorch's own runtime for these blobs accepts as "max_value".
  static constexpr std::uint64_t largest_max_value = 4;

  struct Delegate {
    std::vector<Instruction> instructions;
    std::size_t num_inputs = 1;  ///< `sin` takes the one before it, the others one more.
    bool multiplies = false;     ///< Without a product all tensors have the same sizes.
  };

  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob processed,
                               tenon::CompileSpecs specs) {
    if (const auto value = specs.find("max_value")) TENON_RETURN_IF_ERROR(check_max_value(*value));
    TENON_TRY(auto instructions, demo::parse_blob(processed.text()));
    processed.release();
    Delegate delegate{std::move(instructions)};
    for (const Instruction& instruction : delegate.instructions) {
      if (instruction.op != Op::sin) ++delegate.num_inputs;
      if (instruction.op == Op::mm) delegate.multiplies = true;
    }
    return delegate;
  }

  Status execute(tenon::ExecutionContext& context, Delegate& delegate, tenon::Args args) {
    TENON_RETURN_IF_ERROR(args.expect(delegate.num_inputs + 1));
    const std::size_t out_index = delegate.num_inputs;
    TENON_TRY(const auto out,
              args.tensor(out_index, tenon::ScalarType::Float, tenon::Access::Write));

    const std::span<float> result(static_cast<float*>(out.data()), out.numel());
    std::size_t next_input = 0;
    const auto take = [&]() -> tenon::Result<Operand> {
      const std::size_t index = next_input++;
      if (!delegate.multiplies) {
        TENON_TRY(const auto in, args.tensor<const float>(index));
        if (!std::ranges::equal(in.sizes(), out.sizes())) {
          return tenon::error(Error::InvalidArgument, "argument ", index, ": expected the sizes ",
                              tenon::shape_text(out.sizes()), " of the output, found ",
                              tenon::shape_text(in.sizes()));
        }
      }
      return load(args, index);
    };
    TENON_TRY(Operand current, take());
    for (const Instruction& instruction : delegate.instructions) {
      const tenon::TracerScope scope(context.tracer(), op_name(instruction.op),
                                     instruction.debug_handle);
      if (instruction.numel != static_cast<std::int64_t>(result.size())) {
        return tenon::error(Error::InvalidArgument, op_name(instruction.op), ": expected ",
                            instruction.numel, " elements, found ", result.size());
      }
      Operand other{};
      if (instruction.op != Op::sin) {
        TENON_TRY(other, take());
      }
      if (instruction.op == Op::mm) {
        TENON_TRY(current.values, apart_from(result, current.values, context));
      }
      TENON_RETURN_IF_ERROR(run(instruction.op, current, other, result));
      current.values = result;
    }
    return tenon::ok();
  }

  tenon::Result<tenon::BlobVerdict> check_blob(tenon::InitContext&, tenon::Blob processed,
                                               tenon::CompileSpecs specs) {
    if (const auto value = specs.find("max_value")) {
      if (const Status checked = check_max_value(*value); !checked.ok()) return refuse(checked);
    }
    const auto parsed = demo::parse_blob(processed.text());
    if (parsed.ok()) return tenon::BlobVerdict{};
    return tenon::BlobVerdict{tenon::Compatibility::Incompatible, std::string(parsed.text())};
  }

 private:
  /// A product cannot be written over its own operand: a result that is used again is copied first.
  static tenon::Result<std::span<const float>> apart_from(std::span<const float> result,
                                                          std::span<const float> operand,
                                                          tenon::ExecutionContext& context) {
    if (operand.data() != result.data()) return operand;
    auto* copy = context.temp_allocator().allocate_list<float>(operand.size());
    if (!copy) return tenon::error(Error::MemoryAllocationFailed, "no temporary memory");
    std::ranges::copy(operand, copy);
    return std::span<const float>(copy, operand.size());
  }

  static tenon::BlobVerdict refuse(const Status& why) {
    return {tenon::Compatibility::Incompatible, std::string(why.text())};
  }

  /// The exporter writes the number in as few bytes as possible, so the width depends on the value.
  static Status check_max_value(tenon::Bytes value) {
    std::uint64_t number = 0;
    if (value.empty() || value.size() > sizeof number) {
      return tenon::error(Error::InvalidArgument,
                          "compile spec max_value: expected 1 to 8 bytes, found ", value.size());
    }
    for (std::size_t i = value.size(); i-- > 0;) {
      number = number << 8 | std::to_integer<std::uint64_t>(value[i]);
    }
    if (number <= largest_max_value) return tenon::ok();
    return tenon::error(Error::InvalidArgument, "compile spec max_value: expected at most ",
                        largest_max_value, ", found ", number);
  }

  static Status run(Op op, const Operand& a, const Operand& b, std::span<float> out) {
    if (op == Op::mm) return multiply(a, b, out);
    if (a.values.size() != out.size() || (op != Op::sin && b.values.size() != out.size())) {
      return tenon::error(Error::InvalidArgument, op_name(op), ": expected operands of ",
                          out.size(), " elements, found ", a.values.size(), " and ",
                          b.values.size());
    }
    switch (op) {
      case Op::add:
        std::ranges::transform(a.values, b.values, out.begin(), std::plus{});
        break;
      case Op::mul:
        std::ranges::transform(a.values, b.values, out.begin(), std::multiplies{});
        break;
      default:
        std::ranges::transform(a.values, out.begin(), [](float x) { return std::sin(x); });
        break;
    }
    return tenon::ok();
  }
};

}  // namespace

TENON_PLUGIN(BackendWithCompilerDemo);
