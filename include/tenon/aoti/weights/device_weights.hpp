// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tenon/aoti/tensors/device_memory_api.hpp"
#include "tenon/aoti/weights/shared_by_content.hpp"
#include "tenon/aoti/weights/weights.hpp"
#include "tenon/backend/memory_use.hpp"
#include "tenon/core/bytes.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

/// Weights in the memory of devices, each content once on each device, for as long as a model uses
/// it. Bytes at the same place of a program in use, with the same hash, are the same weight; others
/// of the same hash are read back from the device and compared.
///
/// Threads: any.
class DeviceWeightStore {
 public:
  /// One weight on a device.
  class Weight {
   public:
    explicit Weight(DeviceBlock block) : block_(std::move(block)) {}

    [[nodiscard]] std::byte* data() const noexcept { return block_.data(); }
    [[nodiscard]] std::size_t nbytes() const noexcept { return block_.nbytes(); }
    [[nodiscard]] const DeviceMemoryApi& memory() const noexcept { return block_.memory(); }

    /// Waits for its upload, for users with another stream than the one it was enqueued on.
    [[nodiscard]] Status wait() const {
      if (is_there_.load(std::memory_order_acquire)) return ok();
      TENON_RETURN_IF_ERROR(memory().synchronize(memory().context.get(), memory().stream));
      is_there_.store(true, std::memory_order_release);
      return ok();
    }

   private:
    DeviceBlock block_;
    mutable std::atomic<bool> is_there_ = false;
  };

  /// The weight with this content: one in use, or a new one, whose copy is enqueued on the stream
  /// of `memory`, as by `DeviceBlock::enqueue_upload`. While `source` lives, `bytes` remain what
  /// and where they are.
  /// errors: as the device's functions.
  [[nodiscard]] Result<std::shared_ptr<const Weight>> upload(
      const DeviceMemoryApi& memory, Bytes bytes, const std::shared_ptr<const void>& source) {
    const std::size_t hash = SharedByContent<Weight>::hash_of(bytes);
    auto found = find(memory, bytes, hash);
    if (!found) {
      const auto is_same = [&](const Weight& weight) { return holds(weight, memory, bytes); };
      const auto make = [&]() -> Result<std::shared_ptr<const Weight>> {
        TENON_TRY(DeviceBlock made, DeviceBlock::enqueue_upload(memory, bytes));
        return std::make_shared<const Weight>(std::move(made));
      };
      TENON_TRY(found, weights_.get(hash, is_same, make));
    }
    note(bytes, hash, source, found);
    if (found->memory().stream != memory.stream) TENON_RETURN_IF_ERROR(found->wait());
    return found;
  }

  /// Bytes of all weights in use.
  [[nodiscard]] std::size_t nbytes() const { return weights_.nbytes(); }

  /// Bytes of all weights in use, for each device. `device_type` is DLPack's name of their type.
  [[nodiscard]] MemoryUses uses(std::int32_t device_type) const {
    MemoryUses out;
    weights_.for_each([&](const Weight& weight) {
      const std::int32_t number = weight.memory().device_index;
      auto found = std::ranges::find_if(
          out, [&](const MemoryUse& use) { return use.device.device_id == number; });
      if (found == out.end()) {
        found = out.insert(found, {.device = {device_type, number}});
      }
      found->weights += weight.nbytes();
    });
    return out;
  }

 private:
  /// Bytes of a program, and the weight that was made of them.
  struct Source {
    std::weak_ptr<const void> alive;
    std::size_t nbytes;
    std::size_t hash;
    std::weak_ptr<const Weight> weight;
  };

  static bool is_same_device(const DeviceMemoryApi& a, const DeviceMemoryApi& b) noexcept {
    return a.device_type == b.device_type && a.device_index == b.device_index;
  }

  /// The weight of these very bytes, or null. Nothing is read back. Only where a program is changed
  /// while it is in use does its hash differ.
  std::shared_ptr<const Weight> find(const DeviceMemoryApi& memory, Bytes bytes,
                                     std::size_t hash) const {
    const std::lock_guard lock(mutex_);
    for (auto [at, end] = sources_.equal_range(bytes.data()); at != end; ++at) {
      const Source& source = at->second;
      auto weight = source.weight.lock();
      if (weight && source.nbytes == bytes.size() && source.hash == hash &&
          !source.alive.expired() && is_same_device(weight->memory(), memory)) {
        return weight;
      }
    }
    return nullptr;
  }

  void note(Bytes bytes, std::size_t hash, const std::shared_ptr<const void>& source,
            const std::shared_ptr<const Weight>& weight) {
    const std::lock_guard lock(mutex_);
    std::erase_if(sources_, [](const auto& each) {
      return each.second.alive.expired() || each.second.weight.expired();
    });
    sources_.emplace(bytes.data(), Source{source, bytes.size(), hash, weight});
  }

  /// True when `weight` has this content and is on the device of `memory`. Compares piece by piece,
  /// so that large weights need little memory here.
  static Result<bool> holds(const Weight& weight, const DeviceMemoryApi& memory, Bytes bytes) {
    if (!is_same_device(weight.memory(), memory) || weight.nbytes() != bytes.size()) return false;
    TENON_RETURN_IF_ERROR(weight.wait());
    void* const context = memory.context.get();
    if (memory.holds) return memory.holds(context, memory.stream, weight.data(), bytes);
    constexpr std::size_t piece_size = std::size_t{4} << 20;
    std::vector<std::byte> piece(bytes.size() < piece_size ? bytes.size() : piece_size);
    for (std::size_t offset = 0; offset < bytes.size(); offset += piece.size()) {
      const std::size_t left = bytes.size() - offset;
      const Bytes expected = bytes.subspan(offset, left < piece.size() ? left : piece.size());
      TENON_RETURN_IF_ERROR(memory.copy(context, memory.stream, CopyKind::to_host, piece.data(),
                                        weight.data() + offset, expected.size()));
      TENON_RETURN_IF_ERROR(memory.synchronize(context, memory.stream));
      if (std::memcmp(expected.data(), piece.data(), expected.size()) != 0) return false;
    }
    return true;
  }

  mutable std::mutex mutex_;
  std::multimap<const std::byte*, Source> sources_;
  SharedByContent<Weight> weights_;
};

/// The fixed weights of one model on its device, for all its instances. Uploaded for the first
/// instance, which must wait for its stream before another is made. The bytes that they are made of
/// must outlive it.
///
/// Threads: any.
class DeviceWeights {
 public:
  /// With a store, weights are shared with the other models of that store.
  explicit DeviceWeights(std::shared_ptr<DeviceWeightStore> store) : store_(std::move(store)) {}

  /// Makes one block for the constants of these sizes, by their index; 0 for a constant that is not
  /// to be here. What is shared has blocks of its own.
  /// errors: as the device's functions.
  [[nodiscard]] Status reserve(const DeviceMemoryApi& memory, std::span<const std::size_t> sizes) {
    constexpr std::size_t alignment = 256;  // Of what devices allocate.
    const std::lock_guard lock(mutex_);
    if (store_ || block_ || adopted_ || !memory.joins_constants) return ok();
    std::vector<Part> parts;
    std::size_t end = 0;
    for (const std::size_t size : sizes) {
      const std::size_t begin = size == 0 ? end : (end + alignment - 1) / alignment * alignment;
      if (begin < end || __builtin_add_overflow(begin, size, &end)) {
        return error(Error::InvalidProgram, "the sizes of the model's constants overflow");
      }
      parts.push_back({begin, size});
    }
    if (end == 0) return ok();
    TENON_TRY(DeviceBlock block, DeviceBlock::allocate(memory, end));
    block_.emplace(std::move(block));
    parts_ = std::move(parts);
    return ok();
  }

  /// Has the constants within `bytes` in place, where the device can, instead of copies of them.
  /// errors: as the device's functions.
  [[nodiscard]] Status adopt(const DeviceMemoryApi& memory, Bytes bytes) {
    const std::lock_guard lock(mutex_);
    if (adopted_ || !weights_.empty()) return ok();
    TENON_TRY(auto block, DeviceBlock::adopt(memory, bytes));
    if (block) adopted_.emplace(*std::move(block));
    return ok();
  }

  /// Address of constant `index`, whose content is `bytes`, on the device of `memory`. The copy is
  /// enqueued on the stream of `memory`, and `bytes` must live until it is done.
  [[nodiscard]] Result<std::byte*> place(const DeviceMemoryApi& memory, std::size_t index,
                                         Bytes bytes) {
    if (bytes.empty()) return nullptr;
    const std::lock_guard lock(mutex_);
    if (weights_.size() <= index) weights_.resize(index + 1);
    Placed& placed = weights_[index];
    if (placed.data) return placed.data;
    if (is_adopted(bytes)) return placed.data = const_cast<std::byte*>(bytes.data());
    if (store_) {
      TENON_TRY(placed.shared, store_->upload(memory, bytes, alive_));
      placed.data = placed.shared->data();
    } else if (index < parts_.size() && bytes.size() <= parts_[index].size) {
      TENON_RETURN_IF_ERROR(block_->enqueue_write(parts_[index].begin, bytes));
      placed.data = block_->data() + parts_[index].begin;
    } else {
      TENON_TRY(DeviceBlock block, DeviceBlock::enqueue_upload(memory, bytes));
      placed.own.emplace(std::move(block));
      placed.data = placed.own->data();
    }
    nbytes_ += bytes.size();
    return placed.data;
  }

  [[nodiscard]] std::size_t nbytes() const {
    const std::lock_guard lock(mutex_);
    return nbytes_;
  }

 private:
  struct Part {
    std::size_t begin;
    std::size_t size;
  };
  struct Placed {
    std::byte* data = nullptr;
    std::shared_ptr<const DeviceWeightStore::Weight> shared{};
    std::optional<DeviceBlock> own{};
  };

  /// Whether a constant is in the adopted bytes, where a kernel can take it.
  bool is_adopted(Bytes bytes) const noexcept {
    if (!adopted_ || !is_aligned(bytes)) return false;
    const std::less_equal<const std::byte*> is_up_to;
    return is_up_to(adopted_->data(), bytes.data()) &&
           is_up_to(bytes.data() + bytes.size(), adopted_->data() + adopted_->nbytes());
  }

  std::shared_ptr<DeviceWeightStore> store_;
  mutable std::mutex mutex_;
  std::optional<DeviceBlock> block_;
  std::optional<DeviceBlock> adopted_;  ///< The host's bytes.
  std::vector<Part> parts_;             ///< Of the constants in it.
  std::vector<Placed> weights_;
  std::size_t nbytes_ = 0;
  /// For the store; destroyed first, while the bytes are still there.
  std::shared_ptr<const void> alive_ = std::make_shared<const char>();
};

}}}  // namespace tenon::TENON_RELEASE::aoti
