// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "onednn/onednn_api.hpp"
#include "tenon/aoti/shims/base_shims.hpp"
#include "unit/cpu_kernels/kernel_support.hpp"

/// Functions of PyTorch's C shim in libtorch and in CpuAotiBackend, and tensors for both, for
/// bench_operators.cpp. What fails ends the process with a message.
namespace operator_bench {

using kernel_test::Random;
using kernel_test::Shape;
using tenon::ScalarType;
using tenon::aoti::ModelTensor;
using tenon::aoti::ShimError;

/// The library that a function or a tensor belongs to; an index.
enum Side : std::size_t { in_libtorch, in_tenon };
inline constexpr std::array both_sides{in_libtorch, in_tenon};

[[noreturn]] inline void give_up(const std::string& reason) {
  std::fprintf(stderr, "bench-operators: %s\n", reason.c_str());
  std::_Exit(1);  // Without destructors: libtorch's are not part of this.
}

/// One function in both libraries. F is the type of ours: libtorch's has the same parameters, with
/// pointers to tensors of its own (torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h).
template <class F>
class BothFunctions {
 public:
  BothFunctions(void* libtorch, const char* name, F ours)
      : functions_{reinterpret_cast<F>(::dlsym(libtorch, name)), ours} {
    if (!functions_[in_libtorch]) give_up(std::string("libtorch has no function ") + name);
  }

  template <class... Args>
  ShimError operator()(Side side, Args... args) const {
    return functions_[side](args...);
  }

 private:
  std::array<F, 2> functions_;
};

/// The member `name` as a function of both libraries.
#define TENON_BENCH_FUNCTION(name, ours) \
  BothFunctions<decltype(&ours::name)> name { library, #name, &ours::name }

/// The functions that make tensors, read them and destroy them.
struct TensorFunctions {
  void* library;
  TENON_BENCH_FUNCTION(aoti_torch_create_tensor_from_blob, tenon::aoti::shims);
  TENON_BENCH_FUNCTION(aoti_torch_delete_tensor_object, tenon::aoti::shims);
  TENON_BENCH_FUNCTION(aoti_torch_empty_strided, tenon::aoti::shims);
  TENON_BENCH_FUNCTION(aoti_torch_get_data_ptr, tenon::aoti::shims);
  TENON_BENCH_FUNCTION(aoti_torch_get_storage_numel, tenon::aoti::shims);
  TENON_BENCH_FUNCTION(aoti_torch_get_strides, tenon::aoti::shims);
  TENON_BENCH_FUNCTION(aoti_torch_get_dim, tenon::aoti::shims);
};

/// Opens libtorch_cpu.so beside our kernels, and turns its recording of gradients off.
inline void* open_libtorch(const char* path) {
  void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) give_up(::dlerror());
  const auto set_gradients =
      reinterpret_cast<void (*)(bool)>(::dlsym(library, "aoti_torch_grad_mode_set_enabled"));
  if (!set_gradients) give_up("libtorch has no function aoti_torch_grad_mode_set_enabled");
  set_gradients(false);
  if (const tenon::Status status = tenon::cpu_aoti::onednn::load(); !status.ok()) {
    give_up(tenon::describe(status));
  }
  return library;
}

/// A tensor in each library, by Side.
using BothTensors = std::array<ModelTensor*, 2>;

/// Makes tensors of both libraries; they are never destroyed, as the process ends after them.
class Tensors {
 public:
  explicit Tensors(void* library) : functions_{library} {}

  /// Numbers in [-bound, bound), in one memory for both, so that neither has the luckier address.
  BothTensors random(const Shape& sizes, ScalarType type, Shape strides = {}, double bound = 1) {
    std::size_t count = 1;
    for (const std::int64_t size : sizes) count *= static_cast<std::size_t>(size);
    std::byte* const data = block(count * tenon::size_of(type));
    for (std::size_t i = 0; i < count; ++i) {
      kernel_test::write(type, data, static_cast<std::int64_t>(i), source_.uniform() * bound);
    }
    return over(data, sizes, type, strides.empty() ? contiguous(sizes) : std::move(strides));
  }

  /// Whole numbers in one memory for both.
  BothTensors integers(const std::vector<std::int64_t>& values) {
    std::byte* const data = block(values.size() * sizeof(std::int64_t));
    std::memcpy(data, values.data(), values.size() * sizeof(std::int64_t));
    return over(data, {static_cast<std::int64_t>(values.size())}, ScalarType::Long, {1});
  }

  /// Outputs, which each library has in memory of its own.
  BothTensors empty(const Shape& sizes, ScalarType type) {
    const Shape strides = contiguous(sizes);
    BothTensors out{};
    for (const Side side : both_sides) {
      check(functions_.aoti_torch_empty_strided(side, rank(sizes), sizes.data(), strides.data(),
                                                static_cast<std::int32_t>(type), 0, 0, &out[side]),
            "aoti_torch_empty_strided");
    }
    return out;
  }

  Random& source() { return source_; }

  void destroy(Side side, ModelTensor* tensor) const {
    check(functions_.aoti_torch_delete_tensor_object(side, tensor),
          "aoti_torch_delete_tensor_object");
  }

  /// The elements of a dense tensor of real numbers as they are stored.
  std::vector<double> elements(Side side, ModelTensor* tensor, ScalarType type) const {
    void* data = nullptr;
    std::int64_t count = 0;
    check(functions_.aoti_torch_get_data_ptr(side, tensor, &data), "aoti_torch_get_data_ptr");
    check(functions_.aoti_torch_get_storage_numel(side, tensor, &count),
          "aoti_torch_get_storage_numel");
    std::vector<double> out;
    for (std::int64_t i = 0; i < count; ++i) {
      out.push_back(kernel_test::read(type, static_cast<std::byte*>(data), i));
    }
    return out;
  }

  Shape strides(Side side, ModelTensor* tensor) const {
    std::int64_t rank = 0;
    std::int64_t* steps = nullptr;
    check(functions_.aoti_torch_get_dim(side, tensor, &rank), "aoti_torch_get_dim");
    check(functions_.aoti_torch_get_strides(side, tensor, &steps), "aoti_torch_get_strides");
    return {steps, steps + rank};
  }

 private:
  static std::int64_t rank(const Shape& sizes) { return static_cast<std::int64_t>(sizes.size()); }

  static void check(ShimError failed, const char* function) {
    if (failed) give_up(std::string(function) + " failed");
  }

  static Shape contiguous(const Shape& sizes) {
    Shape strides(sizes.size(), 1);
    for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
    return strides;
  }

  /// Memory that starts at a line of the cache.
  std::byte* block(std::size_t nbytes) {
    auto& made = blocks_.emplace_back(nbytes / sizeof(Line) + 1);
    return made.front().bytes;
  }

  BothTensors over(std::byte* data, const Shape& sizes, ScalarType type, const Shape& strides) {
    BothTensors out{};
    for (const Side side : both_sides) {
      check(functions_.aoti_torch_create_tensor_from_blob(
                side, data, rank(sizes), sizes.data(), strides.data(), 0,
                static_cast<std::int32_t>(type), 0, 0, &out[side]),
            "aoti_torch_create_tensor_from_blob");
    }
    return out;
  }

  struct alignas(64) Line {
    std::byte bytes[64];
  };

  TensorFunctions functions_;
  Random source_;
  std::deque<std::vector<Line>> blocks_;
};

}  // namespace operator_bench
