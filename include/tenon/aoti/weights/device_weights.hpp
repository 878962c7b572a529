// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "tenon/aoti/tensors/device_memory_api.hpp"
#include "tenon/aoti/weights/shared_by_content.hpp"
#include "tenon/core/bytes.hpp"

namespace tenon::aoti {

/// Weights in the memory of devices, each content once on each device, for as long as a model uses
/// it. Blocks of the same hash are read back from the device and compared.
///
/// Threads: any.
class DeviceWeightStore {
 public:
  /// errors: those of the device.
  [[nodiscard]] Result<std::shared_ptr<const DeviceBlock>> upload(const DeviceMemoryApi& memory,
                                                                  Bytes bytes) {
    const auto is_same = [&](const DeviceBlock& block) { return holds(block, memory, bytes); };
    const auto make = [&]() -> Result<std::shared_ptr<const DeviceBlock>> {
      TENON_TRY(DeviceBlock made, DeviceBlock::enqueue_upload(memory, bytes));
      // Another model may use it at once, on its own stream.
      TENON_RETURN_IF_ERROR(memory.synchronize(memory.context.get(), memory.stream));
      return std::make_shared<const DeviceBlock>(std::move(made));
    };
    return blocks_.get(bytes, is_same, make);
  }

  /// Bytes of all blocks in use.
  [[nodiscard]] std::size_t nbytes() const { return blocks_.nbytes(); }

 private:
  static bool is_same_device(const DeviceMemoryApi& a, const DeviceMemoryApi& b) noexcept {
    return a.device_type == b.device_type && a.device_index == b.device_index;
  }

  /// True when `block` has this content and is on the device of `memory`. Compares piece by piece,
  /// so that large weights need little memory here.
  static Result<bool> holds(const DeviceBlock& block, const DeviceMemoryApi& memory, Bytes bytes) {
    if (!is_same_device(block.memory(), memory) || block.nbytes() != bytes.size()) return false;
    constexpr std::size_t piece_size = std::size_t{4} << 20;
    std::vector<std::byte> piece(bytes.size() < piece_size ? bytes.size() : piece_size);
    for (std::size_t offset = 0; offset < bytes.size(); offset += piece.size()) {
      const std::size_t left = bytes.size() - offset;
      const Bytes expected = bytes.subspan(offset, left < piece.size() ? left : piece.size());
      TENON_RETURN_IF_ERROR(memory.copy(memory.context.get(), memory.stream, CopyKind::to_host,
                                        piece.data(), block.data() + offset, expected.size()));
      TENON_RETURN_IF_ERROR(memory.synchronize(memory.context.get(), memory.stream));
      if (std::memcmp(expected.data(), piece.data(), expected.size()) != 0) return false;
    }
    return true;
  }

  SharedByContent<DeviceBlock> blocks_;
};

/// The fixed weights of one model on its device, for all its instances. Uploaded for the first
/// instance, which must wait for its stream before another is made.
///
/// Threads: any.
class DeviceWeights {
 public:
  /// With a store, weights are shared with the other models of that store.
  explicit DeviceWeights(std::shared_ptr<DeviceWeightStore> store) : store_(std::move(store)) {}

  /// Address of constant `index`, whose content is `bytes`, on the device of `memory`. Without a
  /// store the copy is enqueued on the stream of `memory`, and `bytes` must live until it is done.
  [[nodiscard]] Result<std::byte*> place(const DeviceMemoryApi& memory, std::size_t index,
                                         Bytes bytes) {
    if (bytes.empty()) return nullptr;
    const std::lock_guard lock(mutex_);
    if (blocks_.size() <= index) blocks_.resize(index + 1);
    if (!blocks_[index] && store_) {
      TENON_TRY(blocks_[index], store_->upload(memory, bytes));
    } else if (!blocks_[index]) {
      TENON_TRY(DeviceBlock block, DeviceBlock::enqueue_upload(memory, bytes));
      blocks_[index] = std::make_shared<const DeviceBlock>(std::move(block));
    }
    return blocks_[index]->data();
  }

  [[nodiscard]] std::size_t nbytes() const {
    const std::lock_guard lock(mutex_);
    std::size_t sum = 0;
    for (const auto& block : blocks_) sum += block ? block->nbytes() : 0;
    return sum;
  }

 private:
  std::shared_ptr<DeviceWeightStore> store_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const DeviceBlock>> blocks_;
};

}  // namespace tenon::aoti
