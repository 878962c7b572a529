// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/aoti/container.hpp"
#include "tenon/aoti/device_weights.hpp"
#include "tenon/aoti/named_weights.hpp"
#include "tenon/aoti/strided_copy.hpp"
#include "tenon/aoti/weights.hpp"
#include "tenon/core/args.hpp"

namespace tenon::aoti {

/// The weights that an instance is made with. What it refers to outlives the instance.
struct InstanceWeights {
  std::optional<Bytes> blob;
  /// In place of a blob: weights by name, and the bytes of each.
  std::span<const NamedWeight> named{};
  std::span<const Bytes> named_bytes{};
  /// Use the bytes of the blob where they lie, for constants in the host's memory.
  bool in_place = true;
  /// Where constants of a device with memory of its own are kept; null for the CPU.
  DeviceWeights* on_device = nullptr;
};

/// One copy of a model that can run: its container, the memory it works in, and its state. Weights
/// are those of the delegate, shared by all its instances.
///
/// Arguments that lie where the model works are used in place. Others are copied: inputs before a
/// run, outputs after it, on the same stream as the model's own work.
///
/// Threads: one at a time.
class Instance {
 public:
  /// Makes an instance. `device` is "cpu", "cuda:0", "mps".
  [[nodiscard]] static Result<std::unique_ptr<Instance>> create(const ContainerApi& api,
                                                                const DeviceMemory& memory,
                                                                const char* device,
                                                                const InstanceWeights& weights) {
    auto pool = std::make_unique<TensorPool>(memory);
    TENON_TRY(Container container, Container::create(api, *pool, device));
    auto out = std::unique_ptr<Instance>(new Instance(std::move(pool), std::move(container)));
    TENON_CHECK(out->load_weights(weights));
    // So that running allocates nothing.
    out->inputs_.resize(out->container_.num_inputs());
    out->outputs_.resize(out->container_.num_outputs());
    return out;
  }

  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  ~Instance() {
    // Work that was enqueued may still use what goes now.
    static_cast<void>(pool_->synchronize());
  }

  [[nodiscard]] std::size_t num_inputs() const noexcept { return inputs_.size(); }
  [[nodiscard]] std::size_t num_outputs() const noexcept { return outputs_.size(); }
  /// True when the model keeps something from one run to the next, or may do so.
  [[nodiscard]] bool has_state() const noexcept { return has_state_; }
  /// Bytes of weights that this instance has for itself.
  [[nodiscard]] std::size_t own_weights() const noexcept { return own_weights_; }
  /// Bytes that it works in.
  [[nodiscard]] std::size_t scratch() const noexcept { return pool_->nbytes(); }
  [[nodiscard]] TensorPool& pool() const noexcept { return *pool_; }

  /// The caller's stream, on which runs are enqueued from now on without waiting for those that
  /// leave the host's memory alone; or null for the device's own, which is waited for. Blocks are
  /// used again in the order of one stream, so what the other one has left to do is awaited here.
  [[nodiscard]] Status set_stream(void* stream) {
    TENON_CHECK(pool_->synchronize());
    has_caller_stream_ = stream != nullptr;
    pool_->set_stream(stream ? stream : pool_->memory().stream);
    return ok();
  }
  [[nodiscard]] bool has_caller_stream() const noexcept { return has_caller_stream_; }

  /// Runs the model once. `args` are its inputs and then its outputs, in the host's memory or on
  /// the device.
  [[nodiscard]] Status run(const Args& args) {
    TENON_CHECK(take_inputs(args));
    std::ranges::fill(outputs_, nullptr);
    Status status = container_.run(inputs_, outputs_, pool_->stream());
    if (status.ok()) status = give_outputs(args, outputs_);
    release(inputs_);  // The model took them, unless it failed before that.
    release(outputs_);
    return wait(std::move(status));
  }

  // The steps of a run, for devices that put one together in another way.

  /// Runs the model's own work alone. It takes `inputs` and makes `outputs`.
  [[nodiscard]] Status run_model(std::span<Tensor*> inputs, std::span<Tensor*> outputs) {
    return container_.run(inputs, outputs, pool_->stream());
  }

  /// Enqueues copies of the model's outputs to the arguments behind its inputs.
  [[nodiscard]] Status give_outputs(const Args& args, std::span<Tensor* const> outputs) {
    // All are judged before the first one is written.
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      TENON_CHECK(prepare_output(args, i, outputs[i]));
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      TENON_TRY(const TensorView out, args.tensor(inputs_.size() + i));
      TENON_CHECK(copy_out(out, *outputs[i]));
    }
    return ok();
  }

  /// Fails unless argument `index` lies in the host's memory or on this model's device.
  [[nodiscard]] Status check_place(std::size_t index, const TensorView& tensor) const {
    if (!is_on_host(tensor) && !is_on_device(tensor)) {
      const tenon_dl_device expected = pool_->memory().dl_device;
      const tenon_dl_device found = tensor.device();
      if (pool_->memory().is_host()) {
        return error(Error::NotSupported, "argument ", index,
                     ": expected CPU memory, found DLPack device type ", found.device_type);
      }
      return error(Error::NotSupported, "argument ", index,
                   ": expected CPU memory or DLPack device type ", expected.device_type, " index ",
                   expected.device_id, ", found type ", found.device_type, " index ",
                   found.device_id);
    }
    if (tensor.data() == nullptr && tensor.nbytes() != 0) {
      return error(Error::InvalidArgument, "argument ", index, ": expected ", tensor.nbytes(),
                   " bytes of data, found none");
    }
    return ok();
  }

  [[nodiscard]] bool is_on_device(const TensorView& tensor) const noexcept {
    const tenon_dl_device expected = pool_->memory().dl_device;
    const tenon_dl_device found = tensor.device();
    return found.device_type == expected.device_type && found.device_id == expected.device_id;
  }

  /// Enqueues a copy of the bytes of a dense argument to the device, from wherever it lies.
  [[nodiscard]] Status copy_in(std::byte* to, const TensorView& from) {
    const CopyKind kind = is_on_device(from) ? CopyKind::within_device : CopyKind::to_device;
    return copy(kind, to, from.data(), from.nbytes());
  }

  /// Waits for what was enqueued, unless it is on the caller's stream and leaves the host's memory
  /// alone. A failure that comes to light here counts only where nothing failed before.
  [[nodiscard]] Status wait(Status status) {
    const bool uses_host = std::exchange(uses_host_, false);
    if (pool_->memory().is_host() || (has_caller_stream_ && !uses_host)) return status;
    Status done = pool_->synchronize();
    return status.ok() ? std::move(done) : std::move(status);
  }

 private:
  Instance(std::unique_ptr<TensorPool> pool, Container container)
      : pool_(std::move(pool)), container_(std::move(container)) {}

  Status load_weights(const InstanceWeights& weights) {
    if (!weights.named_bytes.empty()) return load_named_weights(weights);
    const bool in_place = weights.in_place;
    TENON_TRY(std::vector<Constant> constants, container_.constants(in_place));
    TENON_TRY(const std::uint64_t expected, container_.constants_blob_size(constants));
    if (expected == 0) return ok();
    if (!weights.blob) {
      return error(Error::NotFound, "the model needs ", expected,
                   " bytes of weights, the program has none");
    }
    if (weights.blob->size() < expected) {
      return error(Error::InvalidExternalData, "its weights: expected ", expected, " bytes, found ",
                   weights.blob->size());
    }
    for (const Constant& constant : constants) {
      if (!constant.in_place && !weights.on_device) own_weights_ += constant.nbytes;
      has_state_ = has_state_ || constant.is_state;
    }
    if (!weights.on_device) {
      return container_.load_constants(*weights.blob, std::move(constants));
    }
    return container_.load_constants(
        *weights.blob, std::move(constants),
        [&](std::size_t index, Bytes bytes, bool is_state) -> Result<std::byte*> {
          if (is_state) return own_copy(bytes);
          return weights.on_device->place(pool_->memory(), index, bytes);
        });
  }

  /// Gives the model tensors of each constant by its name.
  Status load_named_weights(const InstanceWeights& weights) {
    TENON_TRY(const auto constants, container_.constant_names());
    std::unordered_map<std::string_view, std::size_t> by_name;
    for (std::size_t i = 0; i < weights.named.size(); ++i) {
      by_name.emplace(weights.named[i].name, i);
    }
    std::vector<Tensor*> tensors;
    std::vector<ConstantEntry> entries;
    Status status = ok();
    for (const Container::ConstantName& constant : constants) {
      const auto found = by_name.find(constant.original);
      status = found == by_name.end()
                   ? error(Error::NotFound, "the program has no weight '",
                           std::string_view(constant.original), "', which the model needs")
                   : make_constant(constant, weights, found->second, tensors);
      if (!status.ok()) break;
      entries.push_back({constant.name, tensors.back()});
    }
    if (status.ok() && !entries.empty()) status = container_.use_constants(entries);
    release(tensors);  // The model has handles of its own.
    return status;
  }

  Status make_constant(const Container::ConstantName& constant, const InstanceWeights& weights,
                       std::size_t index, std::vector<Tensor*>& tensors) {
    const NamedWeight& weight = weights.named[index];
    if (static_cast<std::int32_t>(weight.scalar_type) != constant.dtype) {
      return error(Error::InvalidExternalData, "weight '", std::string_view(weight.name),
                   "': the model expects dtype number ", constant.dtype, ", found ",
                   name_of(weight.scalar_type));
    }
    const bool is_fixed =
        constant.type == ConstantType::parameter || constant.type == ConstantType::tensor_constant;
    has_state_ = has_state_ || !is_fixed;
    const Bytes bytes = weights.named_bytes[index];
    std::byte* place = nullptr;
    if (weight.device_type == DeviceType::cpu) {
      if (is_fixed && is_aligned(bytes)) {
        // Models do not write to parameters.
        place = const_cast<std::byte*>(bytes.data());
      } else {
        own_host_blocks_.push_back(std::make_unique<WeightsCopy>(bytes));
        place = own_host_blocks_.back()->data();
      }
    } else if (!weights.on_device) {
      return error(Error::NotSupported, "weight '", std::string_view(weight.name),
                   "' is for a device, and this backend has none");
    } else if (is_fixed) {
      TENON_TRY(place, weights.on_device->place(pool_->memory(), index, bytes));
    } else {
      TENON_TRY(place, own_copy(bytes));
    }
    const bool on_host = weight.device_type == DeviceType::cpu;
    Tensor* tensor = pool_->from_blob(place, weight.sizes, weight.strides.data(),
                                      weight.storage_offset, weight.scalar_type, weight.device_type,
                                      on_host ? 0 : pool_->memory().device_index);
    if (!tensor) return error(Error::InvalidExternalData, pool_->take_failure());
    tensors.push_back(tensor);
    return ok();
  }

  /// A copy on the device that the model may write to.
  Result<std::byte*> own_copy(Bytes bytes) {
    if (bytes.empty()) return nullptr;
    TENON_TRY(DeviceBlock block, DeviceBlock::upload(pool_->memory(), bytes));
    own_blocks_.push_back(std::move(block));
    own_weights_ += bytes.size();
    return own_blocks_.back().data();
  }

  Status take_inputs(const Args& args) {
    TENON_CHECK(args.expect(inputs_.size() + outputs_.size()));
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      Status status = take_input(args, i);
      if (status.ok()) continue;
      release(std::span(inputs_).first(i));
      return wait(std::move(status));
    }
    return ok();
  }

  Status take_input(const Args& args, std::size_t i) {
    TENON_TRY(const TensorView tensor, args.tensor(i));
    TENON_CHECK(check_place(i, tensor));
    const DeviceMemory& memory = pool_->memory();
    const bool in_place = is_on_device(tensor);
    inputs_[i] = in_place ?
                          // Models do not write to their inputs, but the interface has no const.
                     pool_->from_blob(const_cast<std::byte*>(tensor.data()), tensor.sizes(),
                                      tensor.strides().data(), 0, tensor.scalar_type(),
                                      memory.device_type, memory.device_index)
                          : pool_->empty_strided(tensor.sizes(), tensor.strides().data(),
                                                 tensor.scalar_type(), memory.device_type,
                                                 memory.device_index);
    if (!inputs_[i]) {
      return error(Error::InvalidArgument, "argument ", i, ": ", pool_->take_failure());
    }
    if (in_place) return ok();
    Status status = copy_in(inputs_[i]->data, tensor);
    if (!status.ok()) release(std::span(inputs_).subspan(i, 1));
    return status;
  }

  /// Gives output `i` the sizes of what the model made, and fails where that does not fit.
  Status prepare_output(const Args& args, std::size_t i, const Tensor* made) const {
    const std::size_t index = inputs_.size() + i;
    if (!made) return error(Error::Internal, "output ", i, ": the model made none");
    TENON_CHECK(args.resize(index, made->shape()));
    TENON_TRY(const TensorView out, args.tensor(index));
    TENON_CHECK(check_place(index, out));
    if (!out.is_constant() && out.scalar_type() == made->scalar_type) return ok();
    return error(Error::InvalidType, "argument ", index, ": expected a tensor of dtype ",
                 name_of(made->scalar_type), " that may be written, found ",
                 out.is_constant() ? "a constant of " : "", name_of(out.scalar_type()));
  }

  Status copy_out(const TensorView& out, const Tensor& made) {
    if (out.nbytes() == 0) return ok();  // There may be no address then.
    auto* const to = const_cast<std::byte*>(out.data());
    const bool same_strides = std::ranges::equal(made.step(), out.strides());
    const std::size_t element_size = size_of(made.scalar_type);
    if (made.device_type == DeviceType::cpu && is_on_host(out)) {
      // The host's tensors are dense, so this one is when the strides are the same.
      if (same_strides) {
        std::memcpy(to, made.data, out.nbytes());
      } else {
        copy_strided(to, out.strides(), made.data, made.step(), made.shape(), element_size);
      }
      return ok();
    }
    if (made.device_type == DeviceType::cpu) {
      return copy_made_on_host(out, made);
    }
    const CopyKind kind = is_on_device(out) ? CopyKind::within_device : CopyKind::to_host;
    if (same_strides) return copy(kind, to, made.data, out.nbytes());
    if (kind == CopyKind::within_device) {
      return pool_->copy_strided(
          {to, out.strides(), made.data, made.step(), made.shape(), element_size});
    }
    Tensor* packed = pool_->empty_strided(made.shape(), out.strides().data(), made.scalar_type,
                                          made.device_type, made.device_index);
    if (!packed) return error(Error::MemoryAllocationFailed, pool_->take_failure());
    Status status = pool_->copy_strided(
        {packed->data, packed->step(), made.data, made.step(), made.shape(), element_size});
    if (status.ok()) status = copy(kind, to, packed->data, out.nbytes());
    pool_->release(packed);  // Its next user comes later on the same stream.
    return status;
  }

  /// A model on a device may make an output in the host's memory.
  Status copy_made_on_host(const TensorView& out, const Tensor& made) {
    Tensor* packed = pool_->empty_strided(made.shape(), out.strides().data(), made.scalar_type,
                                          DeviceType::cpu, 0);
    if (!packed) return error(Error::MemoryAllocationFailed, pool_->take_failure());
    copy_strided(packed->data, packed->step(), made.data, made.step(), made.shape(),
                 size_of(made.scalar_type));
    Status status = copy_in_bytes(out, packed->data);
    pool_->release(packed);
    return status;
  }

  /// Done when it returns: the block that is copied from is free then.
  Status copy_in_bytes(const TensorView& out, const std::byte* from) {
    TENON_CHECK(copy(CopyKind::to_device, const_cast<std::byte*>(out.data()), from, out.nbytes()));
    return pool_->synchronize();
  }

  Status copy(CopyKind kind, std::byte* to, const std::byte* from, std::size_t nbytes) {
    uses_host_ = uses_host_ || kind != CopyKind::within_device;
    return pool_->copy(kind, to, from, nbytes);
  }

  static bool is_on_host(const TensorView& tensor) noexcept {
    return tensor.device().device_type == TENON_DL_CPU;
  }

  void release(std::span<Tensor*> tensors) const noexcept {
    for (Tensor*& tensor : tensors) {
      if (tensor) pool_->release(tensor);
      tensor = nullptr;
    }
  }

  std::unique_ptr<TensorPool> pool_;  // Outlives the container.
  std::vector<DeviceBlock> own_blocks_;
  std::vector<std::unique_ptr<WeightsCopy>> own_host_blocks_;
  Container container_;
  std::vector<Tensor*> inputs_;
  std::vector<Tensor*> outputs_;
  bool has_caller_stream_ = false;
  bool uses_host_ = false;
  std::size_t own_weights_ = 0;
  bool has_state_ = false;
};

}  // namespace tenon::aoti
