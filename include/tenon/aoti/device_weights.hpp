// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/aoti/device_memory.hpp"
#include "tenon/core/bytes.hpp"

namespace tenon::aoti {

/// Weights that lie on devices, each content once on each device, for as long as a model uses it.
///
/// Which ones are the same is told by their bytes: what has the same hash is read back from the
/// device and compared, so that no program gets weights of another one by choosing its names or its
/// bytes well.
///
/// Threads: any. Whoever uploads what another thread is uploading waits for it and shares it.
class DeviceWeightStore {
 public:
  /// errors: those of the device.
  [[nodiscard]] Result<std::shared_ptr<const DeviceBlock>> upload(const DeviceMemory& memory,
                                                                  Bytes bytes) {
    const std::size_t hash = std::hash<std::string_view>{}(as_text(bytes));
    const std::lock_guard lock(mutex_);
    std::erase_if(blocks_, [](const auto& entry) { return entry.second.expired(); });
    const auto [first, last] = blocks_.equal_range(hash);
    for (auto entry = first; entry != last; ++entry) {
      auto block = entry->second.lock();
      if (!block || !is_same_device(block->memory(), memory)) continue;
      TENON_TRY(const bool same, holds(*block, memory, bytes));
      if (same) return block;
    }
    TENON_TRY(DeviceBlock made, DeviceBlock::upload(memory, bytes));
    auto block = std::make_shared<const DeviceBlock>(std::move(made));
    blocks_.emplace(hash, block);
    return block;
  }

  /// Bytes of all blocks in use.
  [[nodiscard]] std::size_t nbytes() const {
    const std::lock_guard lock(mutex_);
    std::size_t sum = 0;
    for (const auto& entry : blocks_) {
      if (const auto block = entry.second.lock()) sum += block->nbytes();
    }
    return sum;
  }

 private:
  static bool is_same_device(const DeviceMemory& a, const DeviceMemory& b) noexcept {
    return a.device_type == b.device_type && a.device_index == b.device_index;
  }

  /// Compares piece by piece, so that large weights need little memory here.
  static Result<bool> holds(const DeviceBlock& block, const DeviceMemory& memory, Bytes bytes) {
    if (block.nbytes() != bytes.size()) return false;
    constexpr std::size_t piece_size = std::size_t{4} << 20;
    std::vector<std::byte> piece(std::min(piece_size, bytes.size()));
    for (std::size_t offset = 0; offset < bytes.size(); offset += piece.size()) {
      const Bytes expected = bytes.subspan(offset, std::min(piece.size(), bytes.size() - offset));
      TENON_CHECK(memory.copy(memory.context.get(), memory.stream, CopyKind::to_host, piece.data(),
                              block.data() + offset, expected.size()));
      TENON_CHECK(memory.synchronize(memory.context.get(), memory.stream));
      if (!std::equal(expected.begin(), expected.end(), piece.begin())) return false;
    }
    return true;
  }

  mutable std::mutex mutex_;
  std::unordered_multimap<std::size_t, std::weak_ptr<const DeviceBlock>> blocks_;
};

/// The fixed weights of one model on its device, for all its instances. The first instance has them
/// uploaded.
///
/// Threads: any.
class DeviceWeights {
 public:
  /// With a store, what other models have there is shared with them.
  explicit DeviceWeights(std::shared_ptr<DeviceWeightStore> store)
      : store_(store ? std::move(store) : std::make_shared<DeviceWeightStore>()) {}

  /// Where constant `index`, whose content is `bytes`, lies on the device of `memory`.
  [[nodiscard]] Result<std::byte*> place(const DeviceMemory& memory, std::size_t index,
                                         Bytes bytes) {
    if (bytes.empty()) return nullptr;
    const std::lock_guard lock(mutex_);
    if (blocks_.size() <= index) blocks_.resize(index + 1);
    if (!blocks_[index]) {
      TENON_TRY(blocks_[index], store_->upload(memory, bytes));
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
