// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tenon/aoti/tensors/model_tensor.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

/// One constant in a model's blob, and how the model takes it.
struct ModelConstant {
  std::size_t offset;  ///< In the blob.
  std::size_t nbytes;  ///< In the blob, padding included.
  bool in_place;       ///< The model may use the blob's bytes; otherwise it gets its own copy.
  bool is_state;       ///< The model may write to it.
};

/// Returns the address on the device of a constant with content `bytes`, given its number in the
/// blob. Null where constants are in the host's memory.
struct PlaceConstant {
  Result<std::byte*> (*function)(void* context, std::size_t index, Bytes bytes,
                                 bool is_state) = nullptr;
  void* context = nullptr;
};

/// Lets a model use weights in place instead of a copy.
///
/// A compiled model takes its constants from a blob by copying all of it (AOTInductor:
/// AOTInductorModelBase::load_constants in model_base.h): one `memcpy` for each constant and then
/// `aoti_torch_create_tensor_from_blob` on the copy. Both functions are shims. While an adoption is
/// active the first copies nothing, so that the pages of the copy are never touched and take no
/// memory, and the second makes the tensor on the blob's own bytes. Weights that are mapped from a
/// file are then in memory once, whatever the number of models that use them. A constant that the
/// model may write to keeps its copy.
///
/// A model of a device with memory of its own copies to the device. There the backend's shims omit
/// the copies, and `PlaceConstant` returns the addresses of the tensors.
///
/// Where the compiler has replaced that `memcpy` by a loop, the bytes are copied to no purpose and
/// the result is the same.
class ConstantAdoption {
 public:
  /// `blob` must outlive the model; `constants` are in the model's order. `place` is for models of
  /// a device with memory of its own.
  ConstantAdoption(Bytes blob, std::vector<ModelConstant> constants, PlaceConstant place = {})
      : blob_(blob), constants_(std::move(constants)), place_(place) {
    active_.fetch_add(1, std::memory_order_relaxed);
  }
  ConstantAdoption(const ConstantAdoption&) = delete;
  ConstantAdoption& operator=(const ConstantAdoption&) = delete;
  ~ConstantAdoption() { active_.fetch_sub(1, std::memory_order_relaxed); }

  /// False when no thread is loading a model.
  [[nodiscard]] static bool any_active() noexcept {
    return active_.load(std::memory_order_relaxed) != 0;
  }

  /// True for the copy of a constant that the model will use in place.
  [[nodiscard]] bool keeps(const void* from, std::size_t nbytes) const noexcept {
    if (nbytes == 0) return false;
    const std::uintptr_t offset =
        reinterpret_cast<std::uintptr_t>(from) - reinterpret_cast<std::uintptr_t>(blob_.data());
    std::size_t first = 0;
    for (std::size_t count = constants_.size(); count != 0;) {  // Offsets are sorted.
      const std::size_t half = count / 2;
      const bool is_before = constants_[first + half].offset < offset;
      first += is_before ? half + 1 : 0;
      count = is_before ? count - half - 1 : half;
    }
    // Empty constants share the offset of the next one.
    for (; first != constants_.size(); ++first) {
      const ModelConstant& constant = constants_[first];
      if (constant.offset != offset) return false;
      if (constant.in_place && constant.nbytes == nbytes) return true;
    }
    return false;
  }

  /// Where a constant is, and whether its elements remain what they are. Elements in the blob do,
  /// because other models use them too. Elements in the model's own copy may change, also in a copy
  /// of a parameter: torch.export lets a model write to one (OutputKind.PARAMETER_MUTATION), and
  /// the type does not show it.
  struct Place {
    void* data;
    bool is_fixed;
  };

  /// The place of the next constant, a tensor on `device`, given the address that the model chose.
  /// errors: as `PlaceConstant`.
  [[nodiscard]] Result<Place> next(void* data, TorchDeviceType device) {
    if (next_ == constants_.size()) return Place{data, false};
    const std::size_t index = next_++;
    const ModelConstant& constant = constants_[index];
    const bool is_fixed = constant.in_place && !constant.is_state;
    if (!data) return Place{data, is_fixed};
    if (place_.function && device != TorchDeviceType::cpu) {
      const Bytes bytes = blob_.subspan(constant.offset, constant.nbytes);
      TENON_TRY(std::byte* const placed,
                place_.function(place_.context, index, bytes, constant.is_state));
      return Place{placed, is_fixed};
    }
    if (constant.is_state) {
      states_.push_back({index, {static_cast<std::byte*>(data), constant.nbytes}});
    }
    if (!constant.in_place) return Place{data, is_fixed};
    // May be read-only memory: models write only to constants of type Buffer, which are never in
    // place.
    return Place{const_cast<std::byte*>(blob_.data() + constant.offset), is_fixed};
  }

  /// A constant in the host's memory that the model may write to, by its number.
  struct State {
    std::size_t index;
    std::span<std::byte> bytes;
  };
  /// The states that the model has made.
  [[nodiscard]] std::vector<State> take_states() noexcept { return std::move(states_); }

  /// Constants that the model has not made yet.
  [[nodiscard]] std::size_t num_left() const noexcept { return constants_.size() - next_; }

 private:
  static inline std::atomic<int> active_ = 0;

  Bytes blob_;
  std::vector<ModelConstant> constants_;
  PlaceConstant place_;
  std::size_t next_ = 0;
  std::vector<State> states_;
};

}}}  // namespace tenon::TENON_RELEASE::aoti
