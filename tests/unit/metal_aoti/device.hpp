// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "device/metal_context.hpp"
#include "half.hpp"
#include "shims/shim_list.hpp"
#include "support/catch.hpp"
#include "tenon/core/scalar_type.hpp"

/// Tensors on the stand-in, for tests of single functions.
namespace metal_test {

using tenon::ScalarType;
using tenon::aoti::ModelTensor;
using Shape = std::vector<std::int64_t>;

/// A tensor that is released at the end of the scope.
class Handle {
 public:
  explicit Handle(ModelTensor* tensor = nullptr) : tensor_(tensor) {}
  Handle(Handle&& other) noexcept : tensor_(std::exchange(other.tensor_, nullptr)) {}
  Handle& operator=(Handle&&) = delete;
  ~Handle() {
    if (tensor_) tensor_->storage->pool->release(tensor_);
  }
  [[nodiscard]] ModelTensor* get() const { return tensor_; }
  [[nodiscard]] ModelTensor** out() { return &tensor_; }
  ModelTensor* operator->() const { return tensor_; }

  /// Element `index` in row-major order.
  [[nodiscard]] double at(std::int64_t index) const {
    const std::byte* const from = place(index);
    switch (tensor_->scalar_type) {
      case ScalarType::Float:
        return double{read<float>(from)};
      case ScalarType::Half:
        return half_value(read<std::uint16_t>(from));
      case ScalarType::BFloat16:
        return double{read<tenon::BFloat16>(from).to_float()};
      case ScalarType::Long:
        return static_cast<double>(read<std::int64_t>(from));
      default:
        return static_cast<double>(read<std::uint8_t>(from));
    }
  }
  void set(std::int64_t index, double value) {
    std::byte* const to = place(index);
    switch (tensor_->scalar_type) {
      case ScalarType::Float:
        return write(to, static_cast<float>(value));
      case ScalarType::Half:
        return write(to, half_bits(value));
      case ScalarType::BFloat16:
        return write(to, tenon::BFloat16::from_float(static_cast<float>(value)));
      case ScalarType::Long:
        return write(to, static_cast<std::int64_t>(value));
      default:
        return write(to, static_cast<std::uint8_t>(value));
    }
  }

 private:
  template <class T>
  static T read(const std::byte* from) {
    T out;
    std::memcpy(&out, from, sizeof out);
    return out;
  }
  template <class T>
  static void write(std::byte* to, T value) {
    std::memcpy(to, &value, sizeof value);
  }
  [[nodiscard]] std::byte* place(std::int64_t index) const {
    std::int64_t offset = 0;
    for (auto d = static_cast<std::size_t>(tensor_->rank); d-- > 0;) {
      offset += index % tensor_->sizes[d] * tensor_->strides[d];
      index /= tensor_->sizes[d];
    }
    return tensor_->data + offset * static_cast<std::int64_t>(size_of(tensor_->scalar_type));
  }

  ModelTensor* tensor_;
};

/// A device, a context, and the pool that shims find on this thread.
class Bench {
 public:
  /// A null device is the system's.
  explicit Bench(tenon::metal_aoti::ContextSettings settings = {std::size_t{64} << 20, 0},
                 std::shared_ptr<tenon::metal_aoti::SharedDevice> device = nullptr)
      : context_(open(settings, std::move(device))),
        pool_(tenon::metal_aoti::metal_memory(context_)),
        scope_(pool_) {}

  [[nodiscard]] tenon::metal_aoti::MetalContext& context() { return *context_; }
  [[nodiscard]] tenon::aoti::TensorPool& pool() { return pool_; }

  /// A tensor whose memory is not set.
  [[nodiscard]] Handle empty(
      const Shape& sizes, ScalarType type = ScalarType::Float, const Shape& strides = {},
      tenon::aoti::TorchDeviceType device = tenon::aoti::TorchDeviceType::mps) {
    return Handle(
        pool_.empty_strided(sizes, strides.empty() ? nullptr : strides.data(), type, device, 0));
  }
  /// A tensor of numbers in [-1, 1].
  [[nodiscard]] Handle random(
      const Shape& sizes, ScalarType type = ScalarType::Float, const Shape& strides = {},
      tenon::aoti::TorchDeviceType device = tenon::aoti::TorchDeviceType::mps) {
    Handle out = empty(sizes, type, strides, device);
    for (std::int64_t i = 0; i < out->numel; ++i) {
      out.set(i, static_cast<double>(source_() % 2001) / 1000.0 - 1.0);
    }
    return out;
  }
  /// Waits for the device; the text of what failed.
  [[nodiscard]] std::string wait() {
    const tenon::Status status = context_->synchronize();
    return std::string(status.text());
  }

 private:
  static std::shared_ptr<tenon::metal_aoti::MetalContext> open(
      const tenon::metal_aoti::ContextSettings& settings,
      std::shared_ptr<tenon::metal_aoti::SharedDevice> device) {
    if (!device) {
      auto system = tenon::metal_aoti::system_device();
      REQUIRE(system.ok());
      device = *system;
    }
    auto opened = tenon::metal_aoti::MetalContext::open(std::move(device), settings);
    REQUIRE(opened.ok());
    return *opened;
  }

  std::mt19937 source_;
  std::shared_ptr<tenon::metal_aoti::MetalContext> context_;
  tenon::aoti::TensorPool pool_;
  tenon::aoti::CurrentPool scope_;
};

}  // namespace metal_test
