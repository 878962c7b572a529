// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/aoti/container.hpp"
#include "tenon/aoti/output_places.hpp"
#include "tenon/aoti/tensors/strided_copy.hpp"
#include "tenon/aoti/weights/device_weights.hpp"
#include "tenon/aoti/weights/named_weights.hpp"
#include "tenon/aoti/weights/weights.hpp"
#include "tenon/core/args.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

/// The weights that an instance is made with. Everything it refers to must outlive the instance.
struct InstanceWeights {
  std::optional<Bytes> blob;
  /// Instead of a blob: weights by name, and the bytes of each.
  std::span<const NamedWeight> named{};
  std::span<const Bytes> named_bytes{};
  /// Use the bytes of the blob in place, for constants in the host's memory.
  bool in_place = true;
  /// Holds the constants on a device with memory of its own; null for the CPU.
  DeviceWeights* on_device = nullptr;
};

/// One copy of a model that can run: its container, its working memory, and its state. The weights
/// belong to the delegate and are shared by all its instances.
///
/// Arguments in the memory that the model works in, or that its device reaches, are used in place.
/// Others are copied: inputs before a run, outputs after it, on the same stream as the model's own
/// work.
///
/// Threads: one at a time.
class Instance {
 public:
  /// Makes an instance. `device` is "cpu", "cuda:0", "mps".
  /// `proxy` runs the operators that the model calls by number; null when it calls none. It must
  /// outlive the instance.
  [[nodiscard]] static Result<std::unique_ptr<Instance>> create(
      const ContainerApi& api, const DeviceMemoryApi& memory, const char* device,
      const InstanceWeights& weights, const ProxyExecutor* proxy = nullptr) {
    auto pool = std::make_unique<TensorPool>(memory);
    TENON_TRY(Container container, Container::create(api, *pool, device));
    container.use_proxy(proxy);
    auto out = std::unique_ptr<Instance>(new Instance(std::move(pool), std::move(container)));
    TENON_RETURN_IF_ERROR(out->load_weights(weights));
    TENON_RETURN_IF_ERROR(out->pool_->synchronize());  // Uploads were only enqueued.
    if (memory.end_uploads) {
      TENON_RETURN_IF_ERROR(memory.end_uploads(memory.context.get()));
    }
    // Running allocates nothing.
    out->inputs_.resize(out->container_.num_inputs());
    out->outputs_.resize(out->container_.num_outputs());
    out->places_ = OutputPlaces(out->inputs_.size(), out->outputs_.size());
    return out;
  }

  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  ~Instance() {
    // Enqueued work may still use the memory that is freed here.
    static_cast<void>(pool_->synchronize());
  }

  [[nodiscard]] std::size_t num_inputs() const noexcept { return inputs_.size(); }
  [[nodiscard]] std::size_t num_outputs() const noexcept { return outputs_.size(); }
  /// True when the model keeps state from one run to the next, or may do so.
  [[nodiscard]] bool has_state() const noexcept { return has_state_; }
  /// The constants in the host's memory that the model may write to: all of its state, unless that
  /// is on a device. Valid as long as this.
  [[nodiscard]] std::span<const ConstantAdoption::State> state() const noexcept { return state_; }
  /// Bytes of weights that only this instance uses.
  [[nodiscard]] std::size_t own_weights() const noexcept { return own_weights_; }
  /// Bytes of working memory.
  [[nodiscard]] std::size_t scratch() const noexcept { return pool_->nbytes(); }
  /// The most that there were at one time.
  [[nodiscard]] std::size_t peak_scratch() const noexcept { return pool_->peak_nbytes(); }
  [[nodiscard]] TensorPool& pool() const noexcept { return *pool_; }

  /// Sets the stream of later runs. On a caller's stream, runs that do not touch the host's memory
  /// are enqueued without waiting; on the device's own (null) each run waits. Waits for the work of
  /// the previous stream, because blocks are reused in the order of one stream.
  [[nodiscard]] Status set_stream(void* stream) {
    TENON_RETURN_IF_ERROR(pool_->synchronize());
    has_caller_stream_ = stream != nullptr;
    pool_->set_stream(stream ? stream : pool_->memory().stream);
    return ok();
  }
  [[nodiscard]] bool has_caller_stream() const noexcept { return has_caller_stream_; }

  /// Whether later runs are left unfinished on any stream, those that read and write the host's
  /// memory too. The caller then waits for it, and until then those bytes stay.
  void leave_unfinished(bool leave) noexcept { leaves_unfinished_ = leave; }

  /// Runs the model once. `args` are its inputs, then its outputs, in the host's memory or on the
  /// device.
  [[nodiscard]] Status run(const Args& args) {
    TENON_RETURN_IF_ERROR(take_inputs(args));
    for (ModelTensor*& output : outputs_) output = nullptr;
    pool_->begin_model(places_.choose(args, pool_->memory()));
    Status status = container_.run(inputs_, outputs_, pool_->stream());
    if (status.ok()) status = give_outputs(args, outputs_);
    release(inputs_);  // The model took ownership, unless it failed before that.
    release(outputs_);
    pool_->end_run();
    return wait(std::move(status));
  }

  /// Gives the model its initial state again, after a first run that failed half-way. Waits for all
  /// work.
  /// errors: NotSupported for state in the host's memory.
  [[nodiscard]] Status reset_state() {
    if (!state_.empty()) {
      return error(Error::NotSupported, "the model has state in the host's memory");
    }
    TENON_RETURN_IF_ERROR(pool_->synchronize());
    for (std::size_t i = 0; i < own_blocks_.size(); ++i) {
      TENON_RETURN_IF_ERROR(pool_->copy(CopyKind::to_device, own_blocks_[i].data(),
                                        initial_[i].data(), initial_[i].size()));
    }
    return pool_->synchronize();
  }

  // The steps of a run, for devices that combine them in another way.

  /// Runs the model without copying arguments. It takes ownership of `inputs` and makes `outputs`.
  [[nodiscard]] Status run_model(std::span<ModelTensor*> inputs, std::span<ModelTensor*> outputs) {
    return container_.run(inputs, outputs, pool_->stream());
  }

  /// Enqueues copies of the model's outputs to the arguments after its inputs.
  [[nodiscard]] Status give_outputs(const Args& args, std::span<ModelTensor*> outputs) {
    // All are checked before the first one is written.
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      TENON_RETURN_IF_ERROR(prepare_output(args, i, outputs[i]));
    }
    if (pool_->memory().reaches) {
      places_.learn(args, outputs);
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (!places_.is_displaced(args, outputs, i)) continue;
        TENON_RETURN_IF_ERROR(move_to_pool(outputs[i]));
      }
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      TENON_TRY(const TensorView out, args.tensor(inputs_.size() + i));
      TENON_RETURN_IF_ERROR(copy_out(out, *outputs[i]));
    }
    return ok();
  }

  /// Fails unless argument `index` is in the host's memory or on this model's device.
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

  /// Enqueues a copy of the bytes of a dense argument to the device, from the host or the device.
  [[nodiscard]] Status copy_in(std::byte* to, const TensorView& from) {
    const CopyKind kind = is_on_device(from) ? CopyKind::within_device : CopyKind::to_device;
    return copy(kind, to, from.data(), from.nbytes());
  }

  /// Waits for the enqueued work, unless it is to be left unfinished, or is on the caller's stream
  /// and does not touch the host's memory. Returns `status` when that is a failure, and otherwise
  /// the result of waiting.
  [[nodiscard]] Status wait(Status status) {
    const bool uses_host = std::exchange(uses_host_, false);
    const bool waits = !leaves_unfinished_ && (uses_host || !has_caller_stream_);
    if (pool_->memory().is_host() || !waits) return status;
    Status done = pool_->synchronize();
    return status.ok() ? std::move(done) : std::move(status);
  }

 private:
  Instance(std::unique_ptr<TensorPool> pool, Container container)
      : pool_(std::move(pool)), container_(std::move(container)) {}

  Status load_weights(const InstanceWeights& weights) {
    if (!weights.named_bytes.empty()) return load_named_weights(weights);
    const bool in_place = weights.in_place;
    TENON_TRY(std::vector<ModelConstant> constants, container_.constants(in_place));
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
    for (const ModelConstant& constant : constants) {
      if (!constant.in_place && !weights.on_device) own_weights_ += constant.nbytes;
      has_state_ = has_state_ || constant.is_state;
    }
    if (!weights.on_device) {
      TENON_TRY(state_, container_.load_constants(*weights.blob, std::move(constants)));
      return ok();
    }
    struct Places {
      Instance& instance;
      DeviceWeights& fixed;
    } places{*this, *weights.on_device};
    std::vector<std::size_t> sizes;
    for (const ModelConstant& constant : constants) {
      sizes.push_back(constant.is_state ? 0 : constant.nbytes);
    }
    TENON_RETURN_IF_ERROR(weights.on_device->adopt(pool_->memory(), *weights.blob));
    TENON_RETURN_IF_ERROR(weights.on_device->reserve(pool_->memory(), sizes));
    const auto place = [](void* context, std::size_t index, Bytes bytes,
                          bool is_state) -> Result<std::byte*> {
      auto& [instance, fixed] = *static_cast<Places*>(context);
      if (is_state) return instance.own_copy(bytes);
      return fixed.place(instance.pool_->memory(), index, bytes);
    };
    TENON_TRY(state_,
              container_.load_constants(*weights.blob, std::move(constants), {place, &places}));
    return ok();
  }

  /// Gives the model a tensor for each of its constants, found by name.
  Status load_named_weights(const InstanceWeights& weights) {
    TENON_TRY(const auto constants, container_.constant_names());
    std::vector<std::size_t> by_name(weights.named.size());
    for (std::size_t i = 0; i < by_name.size(); ++i) by_name[i] = i;
    const auto name_of_weight = [&](std::size_t i) {
      return std::string_view(weights.named[i].name);
    };
    std::sort(by_name.begin(), by_name.end(), [&](std::size_t a, std::size_t b) {
      return name_of_weight(a) < name_of_weight(b) ||
             (name_of_weight(a) == name_of_weight(b) && a < b);
    });
    const auto find = [&](std::string_view name) {
      const auto found = std::lower_bound(
          by_name.begin(), by_name.end(), name,
          [&](std::size_t i, std::string_view wanted) { return name_of_weight(i) < wanted; });
      return found != by_name.end() && name_of_weight(*found) == name ? found : by_name.end();
    };
    if (weights.on_device) {
      std::vector<std::size_t> sizes(weights.named.size());
      for (const Container::ConstantName& constant : constants) {
        const auto found = find(constant.original);
        if (found == by_name.end() || !constant.is_fixed) continue;
        const bool on_host = weights.named[*found].device_type == TorchDeviceType::cpu;
        sizes[*found] = on_host ? 0 : weights.named_bytes[*found].size();
      }
      TENON_RETURN_IF_ERROR(weights.on_device->reserve(pool_->memory(), sizes));
    }
    std::vector<ModelTensor*> tensors;
    std::vector<ConstantEntry> entries;
    Status status = ok();
    for (const Container::ConstantName& constant : constants) {
      const std::string_view name(constant.original);
      const auto found = find(name);
      status = found == by_name.end() ? error(Error::NotFound, "the program has no weight '", name,
                                              "', which the model needs")
                                      : make_constant(constant, weights, *found, tensors);
      if (!status.ok()) break;
      entries.push_back({constant.name, tensors.back()});
    }
    if (status.ok() && !entries.empty()) status = container_.use_constants(entries);
    release(tensors);  // The model has its own handles.
    return status;
  }

  Status make_constant(const Container::ConstantName& constant, const InstanceWeights& weights,
                       std::size_t index, std::vector<ModelTensor*>& tensors) {
    const NamedWeight& weight = weights.named[index];
    if (static_cast<std::int32_t>(weight.scalar_type) != constant.dtype) {
      return error(Error::InvalidExternalData, "weight '", std::string_view(weight.name),
                   "': the model expects dtype number ", constant.dtype, ", found ",
                   name_of(weight.scalar_type));
    }
    const bool is_fixed = constant.is_fixed;
    has_state_ = has_state_ || !is_fixed;
    // As of a blob (ConstantAdoption::Place): a copy of the model's own may change.
    bool is_shared = is_fixed;
    const Bytes bytes = weights.named_bytes[index];
    std::byte* place = nullptr;
    if (weight.device_type == TorchDeviceType::cpu) {
      is_shared = is_fixed && is_aligned(bytes);
      if (is_shared) {
        // Models do not write to fixed constants.
        place = const_cast<std::byte*>(bytes.data());
      } else {
        own_host_blocks_.push_back(std::make_unique<WeightsCopy>(bytes));
        place = own_host_blocks_.back()->data();
        if (!is_fixed) state_.push_back({index, {place, bytes.size()}});
      }
    } else if (!weights.on_device) {
      return error(Error::NotSupported, "weight '", std::string_view(weight.name),
                   "' is for a device, and this backend has none");
    } else if (is_fixed) {
      TENON_TRY(place, weights.on_device->place(pool_->memory(), index, bytes));
    } else {
      TENON_TRY(place, own_copy(bytes));
    }
    const bool on_host = weight.device_type == TorchDeviceType::cpu;
    ModelTensor* tensor = pool_->from_blob(
        place, weight.sizes, weight.strides.data(), weight.storage_offset, weight.scalar_type,
        weight.device_type, on_host ? 0 : pool_->memory().device_index);
    if (!tensor) return error(Error::InvalidExternalData, pool_->take_failure());
    tensor->storage->is_fixed = is_shared;
    tensors.push_back(tensor);
    return ok();
  }

  /// Makes a copy on the device that the model may write to.
  Result<std::byte*> own_copy(Bytes bytes) {
    if (bytes.empty()) return nullptr;
    TENON_TRY(DeviceBlock block, DeviceBlock::enqueue_upload(pool_->memory(), bytes));
    own_blocks_.push_back(std::move(block));
    initial_.push_back(bytes);
    own_weights_ += bytes.size();
    return own_blocks_.back().data();
  }

  Status take_inputs(const Args& args) {
    TENON_RETURN_IF_ERROR(args.expect(inputs_.size() + outputs_.size()));
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
    TENON_RETURN_IF_ERROR(check_place(i, tensor));
    const DeviceMemoryApi& memory = pool_->memory();
    const bool reaches = memory.reaches && is_on_host(tensor) &&
                         OutputPlaces::is_aligned_for_kernels(tensor.data()) &&
                         memory.reaches(memory.context.get(), tensor.data(), tensor.nbytes());
    const bool in_place = is_on_device(tensor) || reaches;
    uses_host_ = uses_host_ || reaches;
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

  /// Resizes output `i` to the tensor that the model made. Fails when it does not fit.
  Status prepare_output(const Args& args, std::size_t i, const ModelTensor* made) const {
    const std::size_t index = inputs_.size() + i;
    if (!made) return error(Error::Internal, "output ", i, ": the model made none");
    TENON_RETURN_IF_ERROR(args.resize(index, made->shape()));
    TENON_TRY(const TensorView out, args.tensor(index));
    TENON_RETURN_IF_ERROR(check_place(index, out));
    if (!out.is_constant() && out.scalar_type() == made->scalar_type) return ok();
    return error(Error::InvalidType, "argument ", index, ": expected a tensor of dtype ",
                 name_of(made->scalar_type), " that may be written, found ",
                 out.is_constant() ? "a constant of " : "", name_of(out.scalar_type()));
  }

  Status copy_out(const TensorView& out, const ModelTensor& made) {
    if (out.nbytes() == 0) return ok();  // There may be no address then.
    auto* const to = const_cast<std::byte*>(out.data());
    const bool same_strides = OutputPlaces::same_strides(out, made);
    if (OutputPlaces::is_in_place(out, made)) {
      uses_host_ = uses_host_ || is_on_host(out);
      return ok();
    }
    const std::size_t element_size = size_of(made.scalar_type);
    if (made.device_type == TorchDeviceType::cpu && is_on_host(out)) {
      // The host's tensors are dense, so `made` is dense when the strides are the same.
      if (same_strides) {
        std::memcpy(to, made.data, out.nbytes());
      } else {
        copy_strided(to, out.strides(), made.data, made.step(), made.shape(), element_size);
      }
      return ok();
    }
    if (made.device_type == TorchDeviceType::cpu) {
      return copy_made_on_host(out, made);
    }
    const CopyKind kind = is_on_device(out) ? CopyKind::within_device : CopyKind::to_host;
    if (same_strides) return copy(kind, to, made.data, out.nbytes());
    if (kind == CopyKind::within_device) {
      return pool_->copy_strided(
          {to, out.strides(), made.data, made.step(), made.shape(), element_size});
    }
    ModelTensor* packed = pool_->empty_strided(made.shape(), out.strides().data(), made.scalar_type,
                                               made.device_type, made.device_index);
    if (!packed) return error(Error::MemoryAllocationFailed, pool_->take_failure());
    Status status = pool_->copy_strided(
        {packed->data, packed->step(), made.data, made.step(), made.shape(), element_size});
    if (status.ok()) status = copy(kind, to, packed->data, out.nbytes());
    pool_->release(packed);  // Its next use is later on the same stream.
    return status;
  }

  /// Replaces a tensor by a copy in memory of the pool.
  Status move_to_pool(ModelTensor*& made) {
    ModelTensor* const moved =
        pool_->empty_strided(made->shape(), made->step().data(), made->scalar_type,
                             made->device_type, made->device_index);
    if (!moved) return error(Error::MemoryAllocationFailed, pool_->take_failure());
    Status copied =
        pool_->copy(CopyKind::within_device, moved->data, made->data, moved->storage->nbytes);
    pool_->release(copied.ok() ? std::exchange(made, moved) : moved);
    return copied;
  }

  /// Copies an output that a model on a device made in the host's memory.
  Status copy_made_on_host(const TensorView& out, const ModelTensor& made) {
    ModelTensor* packed = pool_->empty_strided(made.shape(), out.strides().data(), made.scalar_type,
                                               TorchDeviceType::cpu, 0);
    if (!packed) return error(Error::MemoryAllocationFailed, pool_->take_failure());
    copy_strided(packed->data, packed->step(), made.data, made.step(), made.shape(),
                 size_of(made.scalar_type));
    Status status = copy_in_bytes(out, packed->data);
    pool_->release(packed);
    return status;
  }

  /// Copies, and waits: `from` may be freed when this returns.
  Status copy_in_bytes(const TensorView& out, const std::byte* from) {
    TENON_RETURN_IF_ERROR(
        copy(CopyKind::to_device, const_cast<std::byte*>(out.data()), from, out.nbytes()));
    return pool_->synchronize();
  }

  Status copy(CopyKind kind, std::byte* to, const std::byte* from, std::size_t nbytes) {
    uses_host_ = uses_host_ || (kind != CopyKind::within_device && !pool_->memory().copies_at_once);
    return pool_->copy(kind, to, from, nbytes);
  }

  static bool is_on_host(const TensorView& tensor) noexcept {
    return tensor.device().device_type == TENON_DL_CPU;
  }

  void release(std::span<ModelTensor*> tensors) const noexcept {
    for (ModelTensor*& tensor : tensors) {
      if (tensor) pool_->release(tensor);
      tensor = nullptr;
    }
  }

  std::unique_ptr<TensorPool> pool_;     // Outlives the container.
  std::vector<DeviceBlock> own_blocks_;  ///< The state on the device.
  std::vector<Bytes> initial_;           ///< What each had at first.
  std::vector<std::unique_ptr<WeightsCopy>> own_host_blocks_;
  Container container_;
  std::vector<ModelTensor*> inputs_;
  std::vector<ModelTensor*> outputs_;
  OutputPlaces places_;
  bool has_caller_stream_ = false;
  bool leaves_unfinished_ = false;
  bool uses_host_ = false;  ///< The enqueued run reads or writes the host's memory.
  std::size_t own_weights_ = 0;
  bool has_state_ = false;
  std::vector<ConstantAdoption::State> state_;
};

}}}  // namespace tenon::TENON_RELEASE::aoti
