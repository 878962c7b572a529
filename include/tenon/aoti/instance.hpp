// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tenon/aoti/container.hpp"
#include "tenon/aoti/strided_copy.hpp"
#include "tenon/aoti/weights.hpp"
#include "tenon/core/args.hpp"

namespace tenon::aoti {

/// One copy of a model that can run: its container, the memory it works in, and its state. Weights
/// are those of the delegate, shared by all its instances.
///
/// Threads: one at a time.
class Instance {
 public:
  /// Makes an instance with the weights of `blob`, which must outlive it. `in_place` lets it use
  /// their bytes where they lie.
  [[nodiscard]] static Result<std::unique_ptr<Instance>> create(const ContainerApi& api,
                                                                const DeviceMemory& memory,
                                                                const char* device,
                                                                std::optional<Bytes> blob,
                                                                bool in_place) {
    auto pool = std::make_unique<TensorPool>(memory);
    TENON_TRY(Container container, Container::create(api, *pool, device));
    auto out = std::unique_ptr<Instance>(new Instance(std::move(pool), std::move(container)));
    TENON_CHECK(out->load_weights(blob, in_place));
    // So that running allocates nothing.
    out->inputs_.resize(out->container_.num_inputs());
    out->outputs_.resize(out->container_.num_outputs());
    return out;
  }

  [[nodiscard]] std::size_t num_inputs() const noexcept { return inputs_.size(); }
  [[nodiscard]] std::size_t num_outputs() const noexcept { return outputs_.size(); }
  /// True when the model keeps something from one run to the next, or may do so.
  [[nodiscard]] bool has_state() const noexcept { return has_state_; }
  /// Bytes of weights that this instance has for itself.
  [[nodiscard]] std::size_t own_weights() const noexcept { return own_weights_; }
  /// Bytes that it works in.
  [[nodiscard]] std::size_t scratch() const noexcept { return pool_->nbytes(); }

  /// Runs the model once. `args` are its inputs and then its outputs, in the host's memory.
  [[nodiscard]] Status run(const Args& args) {
    TENON_CHECK(take_inputs(args));
    std::ranges::fill(outputs_, nullptr);
    Status status = container_.run(inputs_, outputs_);
    if (status.ok()) status = give_outputs(args);
    release(inputs_);  // The model took them, unless it failed before that.
    release(outputs_);
    return status;
  }

 private:
  Instance(std::unique_ptr<TensorPool> pool, Container container)
      : pool_(std::move(pool)), container_(std::move(container)) {}

  Status load_weights(std::optional<Bytes> blob, bool in_place) {
    TENON_TRY(std::vector<Constant> constants, container_.constants(in_place));
    TENON_TRY(const std::uint64_t expected, container_.constants_blob_size(constants));
    if (expected == 0) return ok();
    if (!blob) {
      return error(Error::NotFound, "the model needs ", expected,
                   " bytes of weights, the program has none");
    }
    if (blob->size() < expected) {
      return error(Error::InvalidExternalData, "its weights: expected ", expected, " bytes, found ",
                   blob->size());
    }
    for (const Constant& constant : constants) {
      if (!constant.in_place) own_weights_ += constant.nbytes;
      has_state_ = has_state_ || constant.is_state;
    }
    return container_.load_constants(*blob, std::move(constants));
  }

  Status take_inputs(const Args& args) {
    TENON_CHECK(args.expect(inputs_.size() + outputs_.size()));
    const auto device = pool_->memory().device_type;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const auto tensor = args.tensor(i);
      Status refused =
          tensor.ok() ? check_device(i, *tensor) : error(tensor.error(), tensor.text());
      if (refused.ok()) {
        // Models do not write to their inputs, but the interface has no const.
        inputs_[i] =
            pool_->from_blob(const_cast<std::byte*>(tensor->data()), tensor->sizes(),
                             tensor->strides().data(), 0, tensor->scalar_type(), device, 0);
        if (inputs_[i]) continue;
        refused = error(Error::InvalidArgument, "argument ", i, ": ", pool_->take_failure());
      }
      release(std::span(inputs_).first(i));
      return refused;
    }
    return ok();
  }

  Status check_device(std::size_t index, const TensorView& tensor) const {
    if (tensor.device().device_type != TENON_DL_CPU) {
      return error(Error::NotSupported, "argument ", index,
                   ": expected CPU memory, found DLPack device type ", tensor.device().device_type);
    }
    if (tensor.data() == nullptr && tensor.nbytes() != 0) {
      return error(Error::InvalidArgument, "argument ", index, ": expected ", tensor.nbytes(),
                   " bytes of data, found none");
    }
    return ok();
  }

  Status give_outputs(const Args& args) const {
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const std::size_t index = inputs_.size() + i;
      const Tensor* made = outputs_[i];
      if (!made) return error(Error::Internal, "output ", i, ": the model made none");
      TENON_CHECK(args.resize(index, made->shape()));
      TENON_TRY(const TensorView out, args.tensor(index));
      TENON_CHECK(check_device(index, out));
      if (out.is_constant() || out.scalar_type() != made->scalar_type) {
        return error(Error::InvalidType, "argument ", index, ": expected a tensor of dtype ",
                     name_of(made->scalar_type), " that may be written, found ",
                     out.is_constant() ? "a constant of " : "", name_of(out.scalar_type()));
      }
      auto* const to = const_cast<std::byte*>(out.data());
      if (std::ranges::equal(made->step(), out.strides())) {
        // The host's tensors are dense, so this one is.
        std::memcpy(to, made->data, out.nbytes());
        continue;
      }
      copy_strided(to, out.strides(), made->data, made->step(), made->shape(),
                   size_of(made->scalar_type));
    }
    return ok();
  }

  void release(std::span<Tensor*> tensors) const noexcept {
    for (Tensor*& tensor : tensors) {
      if (tensor) pool_->release(tensor);
      tensor = nullptr;
    }
  }

  std::unique_ptr<TensorPool> pool_;  // Outlives the container.
  Container container_;
  std::vector<Tensor*> inputs_;
  std::vector<Tensor*> outputs_;
  std::size_t own_weights_ = 0;
  bool has_state_ = false;
};

}  // namespace tenon::aoti
