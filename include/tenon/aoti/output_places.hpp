// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tenon/aoti/tensors/device_memory_api.hpp"
#include "tenon/aoti/tensors/model_tensor.hpp"
#include "tenon/aoti/tensors/tensor_pool.hpp"
#include "tenon/core/args.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

/// Has a model make its outputs in the memory of their arguments, where its device reaches that
/// (DeviceMemoryApi::reaches), so that they are not copied.
///
/// A model allocates its outputs itself. Its code has no branches but those on sizes, so what one
/// run made as its tensor number n is made as number n of the next one, too. Where that is wrong,
/// the model has used the argument's memory for something else, and the output is copied.
///
/// Threads: one at a time. Running allocates nothing.
class OutputPlaces {
 public:
  OutputPlaces() = default;
  OutputPlaces(std::size_t num_inputs, std::size_t num_outputs)
      : num_inputs_(num_inputs), made_(num_outputs) {
    chosen_.reserve(num_outputs);
    owners_.reserve(num_outputs);
  }

  /// The places for the run that begins, valid until the next call. No argument that shares bytes
  /// with another one is among them.
  [[nodiscard]] std::span<const TensorPool::Placement> choose(const Args& args,
                                                              const DeviceMemoryApi& memory) {
    chosen_.clear();
    owners_.clear();
    if (!memory.reaches) return {};
    for (std::size_t i = 0; i < made_.size(); ++i) {
      const auto [number, nbytes] = made_[i];
      if (number == Storage::not_numbered) continue;
      const auto out = args.tensor(num_inputs_ + i);
      if (!out.ok() || out->nbytes() != nbytes || !may_be_written(*out, memory)) continue;
      if (is_shared(args, num_inputs_ + i, *out)) continue;
      const auto place =
          std::ranges::lower_bound(chosen_, number, {}, &TensorPool::Placement::number);
      // Two outputs may be one tensor.
      if (place != chosen_.end() && place->number == number) continue;
      owners_.insert(owners_.begin() + (place - chosen_.begin()), i);
      chosen_.insert(place, {number, const_cast<std::byte*>(out->data()), nbytes});
    }
    return chosen_;
  }

  /// Notes what the model made, after arguments were resized for it.
  void learn(const Args& args, std::span<ModelTensor* const> outputs) {
    for (std::size_t i = 0; i < made_.size(); ++i) {
      made_[i] = {};
      const auto out = args.tensor(num_inputs_ + i);
      const Storage& storage = *outputs[i]->storage;
      if (!out.ok() || storage.data != outputs[i]->data || storage.nbytes != out->nbytes())
        continue;
      if (same_strides(*out, *outputs[i])) made_[i] = {storage.number, storage.nbytes};
    }
  }

  /// True when output `i` is in the memory of an argument that something else is copied to.
  [[nodiscard]] bool is_displaced(const Args& args, std::span<ModelTensor* const> outputs,
                                  std::size_t i) const {
    const std::byte* const data = outputs[i]->storage->data;
    const auto place = std::ranges::find(chosen_, data, &TensorPool::Placement::data);
    if (place == chosen_.end()) return false;
    const std::size_t owner = owners_[static_cast<std::size_t>(place - chosen_.begin())];
    const auto out = args.tensor(num_inputs_ + owner);
    return !out.ok() || !is_in_place(*out, *outputs[owner]);
  }

  [[nodiscard]] static bool same_strides(const TensorView& out, const ModelTensor& made) {
    return std::ranges::equal(made.step(), out.strides());
  }
  /// True when the model made an output where its argument is.
  [[nodiscard]] static bool is_in_place(const TensorView& out, const ModelTensor& made) {
    return out.data() == made.data && same_strides(out, made);
  }
  /// Whether kernels may have an address: ExecuTorch's planner and Inductor align to as much.
  [[nodiscard]] static bool is_aligned_for_kernels(const std::byte* data) noexcept {
    constexpr std::uintptr_t alignment = 16;
    return data && reinterpret_cast<std::uintptr_t>(data) % alignment == 0;
  }

 private:
  struct Made {
    std::uint32_t number = Storage::not_numbered;
    std::size_t nbytes = 0;
  };

  static bool may_be_written(const TensorView& out, const DeviceMemoryApi& memory) {
    return out.nbytes() != 0 && !out.is_constant() && is_aligned_for_kernels(out.data()) &&
           memory.reaches(memory.context.get(), out.data(), out.nbytes());
  }

  /// Whether argument `index` has bytes in common with another one.
  [[nodiscard]] bool is_shared(const Args& args, std::size_t index, const TensorView& out) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(out.data());
    for (std::size_t i = 0; i < num_inputs_ + made_.size(); ++i) {
      if (i == index) continue;
      const auto other = args.tensor(i);
      if (!other.ok()) return true;
      const auto at = reinterpret_cast<std::uintptr_t>(other->data());
      if (at < begin + out.nbytes() && begin < at + other->nbytes()) return true;
    }
    return false;
  }

  std::size_t num_inputs_ = 0;
  std::vector<Made> made_;
  std::vector<TensorPool::Placement> chosen_;
  std::vector<std::size_t> owners_;  ///< The output of each.
};

}}}  // namespace tenon::TENON_RELEASE::aoti
