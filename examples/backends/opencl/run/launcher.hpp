// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <tenon/tenon.hpp>
#include <utility>

#include "driver/device.hpp"
#include "run/recordings.hpp"

namespace opencl_backend {

/// The kernels of `kernel_source`.
enum class Kernel : std::uint8_t {
  Binary,
  BinaryStrided,
  Unary,
  CopyStrided,
  MatMul,
  Convolution,
  MaxPool,
  AveragePool,
  AdaptiveAveragePool,
  Reduce,
  Softmax,
  LayerNorm,
  Cat,
  Attention,
  Compare,
  Where,
  CopyBytes,
  Embedding,
  Clear,
  Widen,
  Shorten,
};
inline constexpr std::array<const char*, 21> kernel_names = {
    "binary",       "binary_strided", "unary",
    "copy_strided", "matmul",         "convolution",
    "max_pool",     "average_pool",   "adaptive_average_pool",
    "reduce",       "softmax",        "layer_norm",
    "cat",          "attention",      "compare",
    "where",        "copy_bytes",     "embedding",
    "clear",        "widen",          "shorten"};

/// A tensor as kernels take it.
struct ElementSlice {
  cl_mem buffer;
  cl_ulong first;  ///< Number of its first element in the buffer.
};

/// Enqueues and records kernels. It has objects of its own for them, since the arguments of a
/// kernel are set one by one on its object. Threads: one at a time.
class Launcher {
 public:
  Launcher(std::shared_ptr<Device> device, cl_program program)
      : device_(std::move(device)), program_(program) {}

  [[nodiscard]] const Device& device() const noexcept { return *device_; }

  /// Puts `count` work-items of a kernel with `arguments`, and `count` after them, where `target`
  /// says; nothing when that is 0. An ElementSlice is two arguments.
  template <class... Arguments>
  [[nodiscard]] tenon::Status operator()(const Target& target, Kernel which, std::int64_t count,
                                         const Arguments&... arguments) {
    if (count == 0) return tenon::ok();
    TENON_TRY(const cl_kernel kernel, find(target, which));
    cl_uint index = 0;
    cl_int code = CL_SUCCESS;
    (set(kernel, index, code, arguments), ...);
    set(kernel, index, code, count);
    TENON_RETURN_IF_ERROR(check(code, "set the arguments of a kernel"));
    return enqueue(target, kernel, which, count);
  }

 private:
  [[nodiscard]] tenon::Result<cl_kernel> find(const Target& target, Kernel which);
  [[nodiscard]] tenon::Result<Owned<cl_kernel_of>> create(Kernel which) const;
  [[nodiscard]] tenon::Status enqueue(const Target& target, cl_kernel kernel, Kernel which,
                                      std::int64_t count) const;

  template <class T>
  void set(cl_kernel kernel, cl_uint& index, cl_int& code, const T& value) const {
    const cl_int set = device_->api().SetKernelArg(kernel, index++, sizeof value, &value);
    if (code == CL_SUCCESS) code = set;
  }
  void set(cl_kernel kernel, cl_uint& index, cl_int& code, const ElementSlice& slice) const {
    set(kernel, index, code, slice.buffer);
    set(kernel, index, code, slice.first);
  }

  std::shared_ptr<Device> device_;
  cl_program program_;
  std::array<Owned<cl_kernel_of>, kernel_names.size()> kernels_;
};

}  // namespace opencl_backend
