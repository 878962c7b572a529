// SPDX-License-Identifier: MIT
// A dense layer: docs/snippets/dense_in_tree.cpp, moved to Tenon.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tenon/tenon.hpp>
#include <utility>

using namespace tenon;

namespace {

/// out = in x weights, and with `relu` no element below 0.
struct Layer {
  std::uint16_t inputs;
  std::uint16_t outputs;
  bool relu;
  NamedData weights;
};

void multiply(const Layer& layer, const float* weights, std::size_t rows, const float* in,
              float* out) {
  for (std::size_t row = 0; row < rows; ++row, in += layer.inputs, out += layer.outputs) {
    std::fill_n(out, layer.outputs, 0.0F);
    for (std::size_t i = 0; i < layer.inputs; ++i) {
      for (std::size_t o = 0; o < layer.outputs; ++o) {
        out[o] += in[i] * weights[i * layer.outputs + o];
      }
    }
    if (layer.relu)
      std::transform(out, out + layer.outputs, out, [](float x) { return x < 0 ? 0 : x; });
  }
}

class DenseBackend final : public Backend<DenseBackend>, public WithOptions<DenseBackend> {
 public:
  static constexpr std::string_view id = "DenseBackend";
  static constexpr std::array options{
      OptionSpec{"relu", false, "whether outputs below 0 become 0", TENON_OPTION_AT_LOAD}};

  using Delegate = Layer;

  Result<Delegate> init(InitContext& context, Blob processed, CompileSpecs specs) {
    const auto inputs = read_le<std::uint16_t>(processed.bytes());
    const auto outputs = read_le<std::uint16_t>(processed.bytes(), 2);
    if (!outputs || processed.size() != 4) {
      return error(Error::DelegateInvalidCompatibility, "blob: expected 4 bytes, found ",
                   processed.size());
    }
    processed.release();
    const auto key = specs.find("weights");
    const auto data = context.named_data_map();
    if (!key || !data) {
      return error(Error::InvalidProgram,
                   "weights: expected a compile spec with their key, and named data");
    }
    TENON_TRY(NamedData weights, data->get_data(as_text(*key)));
    if (weights.bytes().size() != std::size_t{4} * *inputs * *outputs) {
      return error(Error::InvalidExternalData, "weights: expected ", *inputs, " x ", *outputs,
                   " numbers of float32, found ", weights.bytes().size(), " bytes");
    }
    TENON_TRY(const auto values, option_values(context));
    TENON_TRY(const bool relu, values.get<bool>("relu"));
    return Layer{*inputs, *outputs, relu, std::move(weights)};
  }

  Status execute(ExecutionContext& context, Delegate& layer, Args args) {
    TENON_RETURN_IF_ERROR(args.expect(2));
    TENON_TRY(const auto in, args.tensor<const float>(0));
    TENON_RETURN_IF_ERROR(args.expect_rank(0, 2));
    if (in.sizes()[1] != layer.inputs) {
      return error(Error::InvalidArgument, "argument 0: expected rows of ", layer.inputs,
                   ", found ", in.sizes()[1]);
    }
    const std::array<std::int64_t, 2> sizes{in.sizes()[0], layer.outputs};
    TENON_RETURN_IF_ERROR(args.resize(1, sizes));
    TENON_TRY(const auto out, args.tensor<float>(1));
    const TracerScope event(context.tracer(), "multiply");
    multiply(layer, reinterpret_cast<const float*>(layer.weights.bytes().data()),
             static_cast<std::size_t>(in.sizes()[0]), in.data(), out.data());
    return ok();
  }
};

}  // namespace

TENON_PLUGIN(DenseBackend);
