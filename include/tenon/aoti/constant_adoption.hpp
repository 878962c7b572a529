// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "tenon/aoti/tensor.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/core/result.hpp"

namespace tenon::aoti {

/// How one constant of a model is taken from its blob.
struct Constant {
  std::size_t offset;  ///< In the blob.
  std::size_t nbytes;  ///< In the blob, padding included.
  bool in_place;       ///< The model may use the blob's bytes; otherwise it gets a copy of its own.
  bool is_state;       ///< The model may write to it.
};

/// Address on the device of a constant whose content is `bytes`, given its number in the blob.
using PlaceConstant =
    std::function<Result<std::byte*>(std::size_t index, Bytes bytes, bool is_state)>;

/// Lets a model use weights where they lie instead of in a copy.
///
/// A compiled model takes its constants from a blob by copying all of it (AOTInductor:
/// AOTInductorModelBase::load_constants in model_base.h): one `memcpy` for each constant and then
/// `aoti_torch_create_tensor_from_blob` on the copy. Both calls come to us. While an adoption is
/// active the first copies nothing, so that the pages of the copy are never touched and cost no
/// memory, and the second makes the tensor on the blob's own bytes. Weights that are mapped from a
/// file are then in memory once, whatever the number of models that use them. A constant that the
/// model may write to keeps its copy.
///
/// A model of a device with memory of its own copies to the device. There the backend's own
/// functions leave out the copies, and the tensors are made where `PlaceConstant` says.
///
/// Should the compiler have put another loop in the place of that `memcpy`, the bytes are copied
/// for nothing and the result is the same.
class ConstantAdoption {
 public:
  /// `blob` must outlive the model; `constants` are in the model's order. `place` is for models of
  /// a device with memory of its own.
  ConstantAdoption(Bytes blob, std::vector<Constant> constants, PlaceConstant place = nullptr)
      : blob_(blob), constants_(std::move(constants)), place_(std::move(place)) {
    active_.fetch_add(1, std::memory_order_relaxed);
  }
  ConstantAdoption(const ConstantAdoption&) = delete;
  ConstantAdoption& operator=(const ConstantAdoption&) = delete;
  ~ConstantAdoption() { active_.fetch_sub(1, std::memory_order_relaxed); }

  /// False, on every thread, when no model is loading.
  [[nodiscard]] static bool any_active() noexcept {
    return active_.load(std::memory_order_relaxed) != 0;
  }

  /// True for the copy of a constant that the model will use in place.
  [[nodiscard]] bool keeps(const void* from, std::size_t nbytes) const noexcept {
    const auto* address = static_cast<const std::byte*>(from);
    const auto place = std::ranges::lower_bound(
        constants_, address, std::less{},
        [&](const Constant& constant) { return blob_.data() + constant.offset; });
    // Empty constants share the offset of the one behind them.
    return std::any_of(place, constants_.end(), [&](const Constant& constant) {
      return constant.in_place && constant.nbytes == nbytes && nbytes != 0 &&
             blob_.data() + constant.offset == address;
    });
  }

  /// Where the next constant, a tensor on `device`, is to lie, given where the model put it.
  /// errors: those of `PlaceConstant`.
  [[nodiscard]] Result<void*> next(void* data, DeviceType device) {
    if (next_ == constants_.size()) return data;
    const std::size_t index = next_++;
    const Constant& constant = constants_[index];
    if (!data) return data;
    if (place_ && device != DeviceType::cpu) {
      const Bytes bytes = blob_.subspan(constant.offset, constant.nbytes);
      TENON_TRY(std::byte* const placed, place_(index, bytes, constant.is_state));
      return placed;
    }
    if (!constant.in_place) return data;
    // Read-only memory: models write to constants of type Buffer alone, and those are not in place.
    return const_cast<std::byte*>(blob_.data() + constant.offset);
  }

  /// Constants that were not asked for yet.
  [[nodiscard]] std::size_t num_left() const noexcept { return constants_.size() - next_; }

 private:
  static inline std::atomic<int> active_ = 0;

  Bytes blob_;
  std::vector<Constant> constants_;
  PlaceConstant place_;
  std::size_t next_ = 0;
};

}  // namespace tenon::aoti
