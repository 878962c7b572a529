// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "kernels/kernel_list.hpp"
#include "strided.hpp"
#include "tenon/aoti/shims/call.hpp"
#include "tenon/core/tensor.hpp"

/// Tensors of a pool that counts its allocations, and reference arithmetic in double.
namespace kernel_test {

using tenon::BFloat16;
using tenon::Half;
using tenon::ScalarType;
using tenon::aoti::ModelTensor;
using tenon::aoti::TensorPool;
using Shape = std::vector<std::int64_t>;

/// Of the calling thread.
inline std::size_t& allocations() {
  thread_local std::size_t count = 0;
  return count;
}

inline tenon::aoti::DeviceMemoryApi counted_memory() {
  return {tenon::aoti::TorchDeviceType::cpu,
          [](void*, std::size_t nbytes) -> tenon::Result<std::byte*> {
            ++allocations();
            return static_cast<std::byte*>(std::aligned_alloc(64, (nbytes + 63) / 64 * 64));
          },
          [](void*, std::byte* block) noexcept { std::free(block); }};
}

/// Makes a pool the current one of this thread during its lifetime.
struct Fixture {
  TensorPool pool{counted_memory()};
  tenon::aoti::CurrentPool current{pool};
};

/// Pseudo-random numbers, the same in every run.
struct Random {
  std::uint64_t state = 88172645463325252u;
  std::uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
  }
  double uniform() { return static_cast<double>(next() >> 11) / 9007199254740992.0 * 2 - 1; }
  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(end));
  }
};

inline double read(ScalarType type, const std::byte* data, std::int64_t at) {
  const auto element = [&]<class T>(T) {
    T value;
    std::memcpy(&value, data + at * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    return value;
  };
  switch (type) {
    case ScalarType::Float:
      return double{element(0.0f)};
    case ScalarType::Double:
      return element(0.0);
    case ScalarType::BFloat16:
      return double{element(BFloat16{}).to_float()};
    case ScalarType::Half:
      return double{element(Half{}).to_float()};
    case ScalarType::Int:
      return static_cast<double>(element(std::int32_t{0}));
    case ScalarType::Long:
      return static_cast<double>(element(std::int64_t{0}));
    case ScalarType::Short:
      return static_cast<double>(element(std::int16_t{0}));
    case ScalarType::Char:
      return static_cast<double>(element(std::int8_t{0}));
    default:
      return static_cast<double>(element(std::uint8_t{0}));
  }
}

inline void write(ScalarType type, std::byte* data, std::int64_t at, double value) {
  const auto element = [&]<class T>(T narrow) {
    std::memcpy(data + at * static_cast<std::int64_t>(sizeof(T)), &narrow, sizeof(T));
  };
  switch (type) {
    case ScalarType::Float:
      return element(static_cast<float>(value));
    case ScalarType::Double:
      return element(value);
    case ScalarType::BFloat16:
      return element(BFloat16::from_float(static_cast<float>(value)));
    case ScalarType::Half:
      return element(Half::from_float(static_cast<float>(value)));
    case ScalarType::Int:
      return element(static_cast<std::int32_t>(value));
    case ScalarType::Long:
      return element(static_cast<std::int64_t>(value));
    case ScalarType::Short:
      return element(static_cast<std::int16_t>(value));
    case ScalarType::Char:
      return element(static_cast<std::int8_t>(value));
    default:
      return element(static_cast<std::uint8_t>(value));
  }
}

/// Offset of the element with number `index` in row-major order.
inline std::int64_t offset_of(const ModelTensor& tensor, std::int64_t index) {
  std::int64_t offset = 0;
  for (std::int32_t d = tensor.rank; d-- > 0;) {
    const auto i = static_cast<std::size_t>(d);
    offset += index % tensor.sizes[i] * tensor.strides[i];
    index /= tensor.sizes[i];
  }
  return offset;
}

/// A tensor that is released at the end of the scope.
class Handle {
 public:
  explicit Handle(ModelTensor* tensor = nullptr) : tensor_(tensor) {}
  Handle(Handle&& other) noexcept : tensor_(std::exchange(other.tensor_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(tensor_, other.tensor_);
    return *this;
  }
  ~Handle() {
    if (tensor_) tensor_->storage->pool->release(tensor_);
  }
  ModelTensor* get() const { return tensor_; }
  ModelTensor* operator->() const { return tensor_; }
  ModelTensor& operator*() const { return *tensor_; }
  ModelTensor** out() { return &tensor_; }

  double at(std::int64_t index) const {
    return read(tensor_->scalar_type, tensor_->data, offset_of(*tensor_, index));
  }
  std::vector<double> values() const {
    std::vector<double> out;
    for (std::int64_t i = 0; i < tensor_->numel; ++i) out.push_back(at(i));
    return out;
  }
  void set(std::int64_t index, double value) {
    write(tensor_->scalar_type, tensor_->data, offset_of(*tensor_, index), value);
  }
  Shape strides() const { return {tensor_->step().begin(), tensor_->step().end()}; }
  Shape sizes() const { return {tensor_->shape().begin(), tensor_->shape().end()}; }

 private:
  ModelTensor* tensor_;
};

/// A tensor whose memory, gaps included, is filled with NaN or with a large number, so that
/// elements that must not be read show up.
inline Handle make(const Shape& sizes, ScalarType type = ScalarType::Float,
                   const Shape& strides = {}) {
  auto& pool = tenon::aoti::current_pool();
  Handle out(pool.empty_strided(sizes, strides.empty() ? nullptr : strides.data(), type,
                                tenon::aoti::TorchDeviceType::cpu, 0));
  const auto element = tenon::size_of(type);
  const auto count = static_cast<std::int64_t>(out->storage->nbytes / element);
  for (std::int64_t i = 0; i < count; ++i) {
    write(type, out->storage->data, i,
          type == ScalarType::Float || type == ScalarType::Double || type == ScalarType::BFloat16 ||
                  type == ScalarType::Half
              ? std::nan("")
              : 99);
  }
  return out;
}

/// A tensor with random elements: in [-1, 1], or small whole numbers for integers.
inline Handle random(Random& source, const Shape& sizes, ScalarType type = ScalarType::Float,
                     const Shape& strides = {}) {
  Handle out = make(sizes, type, strides);
  const bool real = type == ScalarType::Float || type == ScalarType::Double ||
                    type == ScalarType::BFloat16 || type == ScalarType::Half;
  for (std::int64_t i = 0; i < out->numel; ++i) {
    out.set(i, real ? source.uniform() : static_cast<double>(source.below(9)));
  }
  return out;
}

/// Tolerance for an element of `type` that is a sum of numbers of about 1.
inline double tolerance(ScalarType type, double terms) {
  const double root = std::sqrt(terms < 1 ? 1 : terms);
  switch (type) {
    case ScalarType::Float:
      return 2e-6 * root;
    case ScalarType::Double:
      return 1e-13 * root;
    case ScalarType::BFloat16:
      return 0.0085 * root;
    case ScalarType::Half:
      return 0.0011 * root;
    default:
      return 0;
  }
}

/// The first difference of the two as text; empty when there is none. NaN is equal to NaN.
inline std::string difference(const std::vector<double>& found, const std::vector<double>& expected,
                              double most) {
  if (found.size() != expected.size()) return "sizes differ";
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(found[i]) && std::isnan(expected[i])) continue;
    if (!(std::abs(found[i] - expected[i]) <= most)) {
      return "element " + std::to_string(i) + ": expected " + std::to_string(expected[i]) +
             ", found " + std::to_string(found[i]);
    }
  }
  return {};
}

}  // namespace kernel_test
