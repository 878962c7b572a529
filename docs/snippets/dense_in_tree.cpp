// SPDX-License-Identifier: MIT
// A dense layer, as a backend is written in ExecuTorch's tree. docs/executorch/port-as-a-diff.md
// moves it to Tenon.
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/event_tracer_hooks_delegate.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

using namespace executorch::runtime;

namespace {

/// out = in x weights, and with `relu` no element below 0.
struct Layer {
  std::uint16_t inputs;
  std::uint16_t outputs;
  bool relu;
  FreeableBuffer weights;
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

class DenseBackend final : public BackendInterface {
 public:
  bool is_available() const override { return true; }

  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                               ArrayRef<CompileSpec> specs) const override {
    std::uint16_t sizes[2];
    if (processed->size() != sizeof sizes) {
      ET_LOG(Error, "blob: expected 4 bytes, found %zu", processed->size());
      return Error::DelegateInvalidCompatibility;
    }
    std::memcpy(sizes, processed->data(), sizeof sizes);
    processed->Free();
    std::string_view key;
    for (const CompileSpec& spec : specs) {
      if (std::strcmp(spec.key, "weights") == 0) {
        key = {static_cast<const char*>(spec.value.buffer), spec.value.nbytes};
      }
    }
    const NamedDataMap* data = context.get_named_data_map();
    if (key.empty() || !data) return Error::InvalidProgram;
    Result<FreeableBuffer> weights = data->get_data(key);
    if (!weights.ok()) return weights.error();
    if (weights->size() != std::size_t{4} * sizes[0] * sizes[1]) return Error::InvalidExternalData;
    const Result<bool> relu = context.get_runtime_spec<bool>("relu");
    if (!relu.ok() && relu.error() != Error::NotFound) return relu.error();
    auto* layer = context.get_runtime_allocator()->allocateInstance<Layer>();
    if (!layer) return Error::MemoryAllocationFailed;
    new (layer) Layer{sizes[0], sizes[1], relu.ok() && *relu, std::move(*weights)};
    return layer;
  }

  Error execute(BackendExecutionContext& context, DelegateHandle* handle,
                Span<EValue*> args) const override {
    const Layer& layer = *static_cast<const Layer*>(handle);
    if (args.size() != 2 || !args[0]->isTensor() || !args[1]->isTensor()) {
      return Error::InvalidArgument;
    }
    const auto& in = args[0]->toTensor();
    auto& out = args[1]->toTensor();
    if (in.scalar_type() != executorch::aten::ScalarType::Float ||
        out.scalar_type() != executorch::aten::ScalarType::Float) {
      return Error::InvalidArgument;
    }
    if (in.dim() != 2 || in.size(1) != layer.inputs) return Error::InvalidArgument;
    const executorch::aten::SizesType sizes[] = {
        static_cast<executorch::aten::SizesType>(in.size(0)),
        static_cast<executorch::aten::SizesType>(layer.outputs)};
    const Error resized = resize_tensor(out, {sizes, 2});
    if (resized != Error::Ok) return resized;
    const auto event =
        event_tracer_start_profiling_delegate(context.event_tracer(), "multiply", DebugHandle(-1));
    multiply(layer, static_cast<const float*>(layer.weights.data()),
             static_cast<std::size_t>(in.size(0)), in.const_data_ptr<float>(),
             out.mutable_data_ptr<float>());
    event_tracer_end_profiling_delegate(context.event_tracer(), event);
    return Error::Ok;
  }

  void destroy(DelegateHandle* handle) const override { static_cast<Layer*>(handle)->~Layer(); }
};

DenseBackend backend;
const auto registered = register_backend({"DenseBackend", &backend});

}  // namespace
