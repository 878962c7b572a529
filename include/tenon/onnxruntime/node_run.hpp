// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/loader/method/method.hpp"
#include "tenon/onnxruntime/bridge.hpp"
#include "tenon/onnxruntime/node_tensor.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace ort {

/// One compiled EPContext node, which ONNX Runtime calls: a method of the host.
///
/// Inputs and outputs of fixed sizes are ONNX Runtime's own memory. An output whose sizes a run
/// decides is in the method's memory, and copied once. Calls of one node wait for each other;
/// different nodes run at the same time.
class NodeRun final : public NodeComputeInfo {
 public:
  /// A tensor of the call: its index among the node's in ONNX Runtime, and the model's declaration.
  /// An output without an index is one that nothing in the model uses.
  struct Port {
    std::optional<std::size_t> index;
    NodeTensor tensor;
  };

  /// errors: NotSupported for a method with a value that is no tensor of the CPU in the usual order
  ///         of dimensions; InvalidArgument and InvalidType where the model declares another call.
  [[nodiscard]] static Result<std::unique_ptr<NodeRun>> make(std::shared_ptr<const Bridge> bridge,
                                                             std::unique_ptr<host::Method> method,
                                                             std::string name,
                                                             std::vector<Port> inputs,
                                                             std::vector<Port> outputs) {
    std::unique_ptr<NodeRun> out(
        new NodeRun(std::move(bridge), std::move(method), std::move(name)));
    TENON_RETURN_IF_ERROR(out->bind("inputs", out->method_->num_inputs(), inputs, false));
    TENON_RETURN_IF_ERROR(out->bind("outputs", out->method_->num_outputs(), outputs, true));
    return out;
  }

 private:
  struct Input {
    std::size_t index;
    std::vector<std::int64_t> sizes;  ///< Of the call that runs, where they must be copied.
  };
  struct Output {
    std::optional<std::size_t> index;
    std::uint64_t nbytes;             ///< Of an output of fixed sizes.
    std::vector<std::int64_t> sizes;  ///< Fixed.
    bool is_copied;
    std::vector<std::byte> room;  ///< For the method, where it has no memory of its own.
  };

  NodeRun(std::shared_ptr<const Bridge> bridge, std::unique_ptr<host::Method> method,
          std::string name)
      : bridge_(std::move(bridge)), method_(std::move(method)), name_(std::move(name)) {
    create_state = [](NodeComputeInfo* self, NodeComputeContext*, void** state) -> StatusPointer {
      *state = self;
      return nullptr;
    };
    compute = [](NodeComputeInfo* self, void*, KernelContext* context) -> StatusPointer {
      auto& run = *static_cast<NodeRun*>(self);
      return run.bridge_->runtime.guarded(
          [&] { return run.run(*context).with_context(run.name_); });
    };
    release_state = [](NodeComputeInfo*, void*) {};
  }

  /// Compares the method's tensors with the model's, and decides where outputs are.
  [[nodiscard]] Status bind(std::string_view list, std::size_t count, std::span<const Port> ports,
                            bool are_outputs) {
    if (count != ports.size()) {
      return error(Error::InvalidArgument, "the context has ", count, " ", list, ", the node ",
                   ports.size());
    }
    for (std::size_t i = 0; i < count; ++i) {
      const tenon_value& value = are_outputs ? method_->output(i) : method_->input(i);
      TENON_TRY(const tenon_tensor* const tensor, check_tensor(list, i, value));
      const auto type = static_cast<ScalarType>(tensor->scalar_type);
      const auto rank = static_cast<std::size_t>(tensor->dl.ndim);
      const bool is_dynamic = tensor->shape_dynamism != TENON_SHAPE_STATIC;
      const std::span bounds(tensor->bounds, rank);
      TENON_RETURN_IF_ERROR(check_agrees(ports[i].tensor, type, bounds, is_dynamic));
      if (!are_outputs) {
        if (!ports[i].index) return error(Error::InvalidArgument, "input ", i, " is absent");
        inputs_.push_back({*ports[i].index, {}});
        continue;
      }
      Output& out = outputs_.emplace_back(
          Output{ports[i].index, tensor->nbytes, {bounds.begin(), bounds.end()}, false, {}});
      const bool is_planned = (tensor->flags & TENON_TENSOR_MEMORY_PLANNED) != 0;
      out.is_copied = is_planned || is_dynamic;
      if (!is_planned && (is_dynamic || !out.index)) {
        out.room.resize(static_cast<std::size_t>(bytes_of(type, bounds)));
        TENON_RETURN_IF_ERROR(method_->set_output(i, out.room));
      }
    }
    return ok();
  }

  [[nodiscard]] static std::uint64_t bytes_of(ScalarType type,
                                              std::span<const std::int64_t> sizes) {
    std::uint64_t out = size_of(type);
    for (const std::int64_t size : sizes) out *= static_cast<std::uint64_t>(size);
    return out;
  }

  [[nodiscard]] static Result<const tenon_tensor*> check_tensor(std::string_view list,
                                                                std::size_t index,
                                                                const tenon_value& value) {
    const auto refused = [&](std::string_view why) {
      return error(Error::NotSupported, "value ", index, " of the context's ", list, ": ", why);
    };
    if (value.kind != TENON_VALUE_TENSOR) return refused("is no tensor");
    const tenon_tensor& tensor = *value.as.tensor;
    if (tensor.dl.device.device_type != TENON_DL_CPU) return refused("is not on the CPU");
    for (std::int32_t i = 0; i < tensor.dl.ndim; ++i) {
      if (tensor.dim_order[i] != i) {
        return refused("has dimensions in another order in memory, which ONNX has no word for");
      }
    }
    return &tensor;
  }

  [[nodiscard]] Status run(KernelContext& context) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      TENON_RETURN_IF_ERROR(set_input(context, i));
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i].is_copied || !outputs_[i].index) continue;
      TENON_TRY(void* const data, allocate(context, outputs_[i], outputs_[i].sizes));
      const auto size = static_cast<std::size_t>(outputs_[i].nbytes);
      TENON_RETURN_IF_ERROR(method_->set_output(i, {static_cast<std::byte*>(data), size}));
    }
    TENON_RETURN_IF_ERROR(method_->execute());
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (!outputs_[i].is_copied || !outputs_[i].index) continue;
      const tenon_tensor& tensor = *method_->output(i).as.tensor;
      const std::span sizes(tensor.dl.shape, static_cast<std::size_t>(tensor.dl.ndim));
      TENON_TRY(void* const data, allocate(context, outputs_[i], sizes));
      const auto size = static_cast<std::size_t>(tensor.nbytes);
      TENON_RETURN_IF_ERROR(method_->read_output(i, {static_cast<std::byte*>(data), size}));
    }
    return ok();
  }

  [[nodiscard]] Status set_input(const KernelContext& context, std::size_t i) {
    const Runtime& runtime = bridge_->runtime;
    const Value* value = nullptr;
    TENON_RETURN_IF_ERROR(
        runtime.check(api::KernelContext_GetInput, &context, inputs_[i].index, &value));
    if (!value) return error(Error::InvalidArgument, "input ", i, " is absent");
    ElementType element{};
    std::span<const std::int64_t> sizes;
    if (runtime.has(api::GetTensorElementTypeAndShapeDataReference)) [[likely]] {
      const std::int64_t* first = nullptr;
      std::size_t rank = 0;
      TENON_RETURN_IF_ERROR(runtime.check(api::GetTensorElementTypeAndShapeDataReference, value,
                                          &element, &first, &rank));
      sizes = {first, rank};
    } else {
      TENON_RETURN_IF_ERROR(copy_shape(*value, element, inputs_[i].sizes));
      sizes = inputs_[i].sizes;
    }
    const void* data = nullptr;
    TENON_RETURN_IF_ERROR(runtime.check(api::GetTensorData, value, &data));
    const auto type = scalar_type(element);
    if (!type) return error(Error::InvalidType, "input ", i, ": no dtype of a program");
    const auto size = static_cast<std::size_t>(bytes_of(*type, sizes));
    return method_->set_input(i, {*type, sizes, {static_cast<const std::byte*>(data), size}});
  }

  /// The dtype and the sizes of a tensor, for versions that do not show them.
  [[nodiscard]] Status copy_shape(const Value& value, ElementType& element,
                                  std::vector<std::int64_t>& sizes) const {
    const Runtime& runtime = bridge_->runtime;
    TensorTypeAndShapeInfo* made = nullptr;
    TENON_RETURN_IF_ERROR(runtime.check(api::GetTensorTypeAndShape, &value, &made));
    const auto release = [&](TensorTypeAndShapeInfo* info) {
      runtime.call(api::ReleaseTensorTypeAndShapeInfo, info);
    };
    const std::unique_ptr<TensorTypeAndShapeInfo, decltype(release)> info(made, release);
    TENON_RETURN_IF_ERROR(runtime.check(api::GetTensorElementType, info.get(), &element));
    std::size_t rank = 0;
    TENON_RETURN_IF_ERROR(runtime.check(api::GetDimensionsCount, info.get(), &rank));
    sizes.resize(rank);
    return rank ? runtime.check(api::GetDimensions, info.get(), sizes.data(), rank) : ok();
  }

  /// The memory of an output of these sizes.
  [[nodiscard]] Result<void*> allocate(KernelContext& context, const Output& output,
                                       std::span<const std::int64_t> sizes) const {
    const Runtime& runtime = bridge_->runtime;
    Value* value = nullptr;
    TENON_RETURN_IF_ERROR(runtime.check(api::KernelContext_GetOutput, &context, *output.index,
                                        sizes.data(), sizes.size(), &value));
    if (!value) return error(Error::Internal, "output ", *output.index, " is absent");
    void* data = nullptr;
    TENON_RETURN_IF_ERROR(runtime.check(api::GetTensorMutableData, value, &data));
    return data;
  }

  const std::shared_ptr<const Bridge> bridge_;
  std::mutex mutex_;  // Guards all below.
  std::unique_ptr<host::Method> method_;
  const std::string name_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
};

}}}  // namespace tenon::TENON_RELEASE::ort
