// SPDX-License-Identifier: MIT
// The kernels that programs of compiled networks need besides their delegates: quantize and
// dequantize, as PyTorch's quantisers write them, and the copy by which a method updates a buffer.
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <tenon/tenon.hpp>

namespace {

using tenon::Access;
using tenon::Args;
using tenon::Error;
using tenon::Result;
using tenon::ScalarType;
using tenon::Status;

/// copy_(self, src, non_blocking) -> self
Status copy(const Args& args) {
  TENON_TRY(const auto src, args.tensor(1));
  TENON_TRY(const auto from, args.tensor(1, src.scalar_type(), Access::Read, tenon::Layout::Any));
  TENON_TRY(const auto to, args.tensor(0, src.scalar_type(), Access::Write, tenon::Layout::Any));
  TENON_RETURN_IF_ERROR(args.expect_layout(0, from));
  if (from.nbytes() != 0) std::memmove(to.data(), from.data(), from.nbytes());
  return tenon::ok();
}

/// A number, or an element of a tensor.
Result<double> number_at(const Args& args, std::size_t index, std::size_t element) {
  if (args.kind(index) == TENON_VALUE_INT) return static_cast<double>(*args.integer(index));
  if (args.kind(index) == TENON_VALUE_DOUBLE) return args.real(index);
  TENON_TRY(const auto view, args.tensor(index));
  if (element >= view.numel()) {
    return tenon::error(Error::InvalidArgument, "argument ", index, ": expected an element ",
                        element, ", found ", tenon::shape_text(view.sizes()));
  }
  const auto read = [&]<class T>(T) -> Result<double> {
    TENON_TRY(const auto tensor, args.tensor<const T>(index));
    return static_cast<double>(tensor[element]);
  };
  switch (view.scalar_type()) {
    case ScalarType::Float:
      return read(float{});
    case ScalarType::Double:
      return read(double{});
    case ScalarType::Char:
      return read(std::int8_t{});
    case ScalarType::Int:
      return read(std::int32_t{});
    case ScalarType::Long:
      return read(std::int64_t{});
    default:
      return tenon::error(Error::NotSupported, "argument ", index, ": expected numbers, found ",
                          name_of(view.scalar_type()));
  }
}

/// Where the arguments of an operator are.
struct Places {
  bool quantizes;
  bool by_channel;
  std::size_t axis = 3;  ///< With channels alone.

  [[nodiscard]] std::size_t lowest() const { return by_channel ? 4 : 3; }
  /// After the lowest, the highest and the dtype; `dequantize` has the dtype of its output, too.
  [[nodiscard]] std::size_t out() const { return lowest() + (quantizes ? 3U : 4U); }
};

/// Elements with one scale: `count` channels, and `inner` elements in a row of one.
struct Channels {
  std::size_t count = 1;
  std::size_t inner = 1;

  [[nodiscard]] std::size_t of(std::size_t element) const {
    return count == 1 ? 0 : element / inner % count;
  }
};

Result<Channels> read_channels(const Args& args, const Places& places,
                               const tenon::TensorView& input) {
  if (!places.by_channel) return Channels{};
  const auto rank = static_cast<std::int64_t>(input.rank());
  TENON_TRY(const std::int64_t given, args.integer(places.axis));
  if (given < -rank || given >= rank) {
    return tenon::error(Error::InvalidArgument, "axis ", given, ": expected -", rank, " to ",
                        rank - 1);
  }
  if (!input.is_contiguous()) {
    return tenon::error(Error::NotSupported,
                        "argument 0: expected dimensions in their own order in memory");
  }
  const auto axis = static_cast<std::size_t>(given < 0 ? given + rank : given);
  Channels out{static_cast<std::size_t>(input.sizes()[axis]), 1};
  for (std::size_t d = axis + 1; d < input.rank(); ++d) {
    out.inner *= static_cast<std::size_t>(input.sizes()[d]);
  }
  return out;
}

/// clamp(round(x / scale) + zero_point, quant_min, quant_max); NaN becomes the lowest number.
template <class Q>
Status quantize(const Args& args, const Places& places) {
  TENON_TRY(const auto x, args.tensor<const float>(0));
  TENON_TRY(const Channels channels, read_channels(args, places, x));
  TENON_TRY(const std::int64_t lowest, args.integer(places.lowest()));
  TENON_TRY(const std::int64_t highest, args.integer(places.lowest() + 1));
  using Limits = std::numeric_limits<Q>;
  if (lowest < Limits::min() || highest > Limits::max() || lowest > highest) {
    return tenon::error(Error::InvalidArgument, "quant_min ", lowest, " and quant_max ", highest,
                        ": expected a range in ", +Limits::min(), " to ", +Limits::max());
  }
  TENON_RETURN_IF_ERROR(args.resize(places.out(), x.sizes()));
  TENON_TRY(const auto y, args.tensor<Q>(places.out()));
  TENON_RETURN_IF_ERROR(args.expect_layout(places.out(), x));
  const auto low = static_cast<float>(lowest), high = static_cast<float>(highest);
  for (std::size_t channel = 0; channel < channels.count; ++channel) {
    TENON_TRY(const double scale, number_at(args, 1, channel));
    TENON_TRY(const double zero, number_at(args, 2, channel));
    const auto inverse = static_cast<float>(1.0 / scale);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (channels.of(i) != channel) continue;
      const float value = std::nearbyint(x[i] * inverse) + static_cast<float>(zero);
      y[i] = value >= high ? static_cast<Q>(highest)
             : value > low ? static_cast<Q>(value)
                           : static_cast<Q>(lowest);
    }
  }
  return tenon::ok();
}

/// (x - zero_point) * scale, without zero points x * scale.
template <class Q>
Status dequantize(const Args& args, const Places& places) {
  TENON_TRY(const auto x, args.tensor<const Q>(0));
  TENON_TRY(const Channels channels, read_channels(args, places, x));
  TENON_RETURN_IF_ERROR(args.resize(places.out(), x.sizes()));
  TENON_TRY(const auto y, args.tensor<float>(places.out()));
  TENON_RETURN_IF_ERROR(args.expect_layout(places.out(), x));
  for (std::size_t channel = 0; channel < channels.count; ++channel) {
    TENON_TRY(const double scale, number_at(args, 1, channel));
    double zero = 0;
    if (args.kind(2) != TENON_VALUE_NONE) {
      TENON_TRY(zero, number_at(args, 2, channel));
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (channels.of(i) != channel) continue;
      y[i] = static_cast<float>(static_cast<double>(x[i]) - zero) * static_cast<float>(scale);
    }
  }
  return tenon::ok();
}

class QuantizedKernels final : public tenon::Backend<QuantizedKernels>,
                               public tenon::WithKernels<QuantizedKernels> {
 public:
  static constexpr std::string_view id = "QuantizedKernels";
  static constexpr std::string_view description =
      "quantize and dequantize of float32, per tensor and per channel, and aten::copy_";
  static constexpr std::int32_t priority = -10;  // Backends with faster kernels come first.
  static constexpr std::array<std::string_view, 7> operators{
      "aten::copy_",
      "quantized_decomposed::quantize_per_tensor.out",
      "quantized_decomposed::quantize_per_tensor.Tensor_out",
      "quantized_decomposed::quantize_per_channel.out",
      "quantized_decomposed::dequantize_per_tensor.out",
      "quantized_decomposed::dequantize_per_tensor.Tensor_out",
      "quantized_decomposed::dequantize_per_channel.out"};

  struct Kernel {
    Status (*run_operator)(const Args& args, const Places& places);
    Places places;

    Status run(tenon::ExecutionContext&, Args args) { return run_operator(args, places); }
  };

  Result<Kernel> create_kernel(std::string_view op, Args args) {
    if (op == operators[0]) {
      TENON_RETURN_IF_ERROR(args.expect(4));
      return Kernel{[](const Args& given, const Places&) { return copy(given); }, {}};
    }
    const Places places{.quantizes = op.find("::quantize") != op.npos,
                        .by_channel = op.find("_channel") != op.npos};
    TENON_RETURN_IF_ERROR(args.expect(places.out() + 2));
    TENON_TRY(const auto input, args.tensor(0));
    TENON_TRY(const auto output, args.tensor(places.out()));
    const auto real = (places.quantizes ? input : output).scalar_type();
    const auto quantized = (places.quantizes ? output : input).scalar_type();
    if (places.by_channel) {
      TENON_TRY(const auto scales, args.tensor(1));
      if (scales.scalar_type() != ScalarType::Float) return missing(op, scales.scalar_type());
    }
    if (real != ScalarType::Float) return missing(op, real);
    switch (quantized) {
      case ScalarType::Char:
        return kernel<std::int8_t>(places);
      case ScalarType::Byte:
        return kernel<std::uint8_t>(places);
      case ScalarType::Short:
        return kernel<std::int16_t>(places);
      default:
        return missing(op, quantized);
    }
  }

 private:
  static Status missing(std::string_view op, ScalarType found) {
    return tenon::error(Error::OperatorMissing, op,
                        " is for dtypes Float and Char, Byte or Short, "
                        "found ",
                        name_of(found));
  }

  template <class Q>
  static Kernel kernel(const Places& places) {
    return {places.quantizes ? &quantize<Q> : &dequantize<Q>, places};
  }
};

}  // namespace

TENON_PLUGIN(QuantizedKernels);
