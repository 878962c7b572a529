// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "common/shape.hpp"

namespace opencl_backend {

/// All kernels, in OpenCL C 1.2. Each has one dimension of work-items, of which those from `count`,
/// its last argument, do nothing, so that the size of a work-group can always be the same: drivers
/// compile a kernel again for each size. Every tensor is a buffer and the number of the element at
/// which it begins.
extern const char* const kernel_source;

/// Sizes of up to eight dimensions, and the distances between their elements in two tensors. The
/// kernels have the same struct.
struct Strided {
  std::int64_t size[graph_backend::Shape::max_rank];
  std::int64_t a[graph_backend::Shape::max_rank];
  std::int64_t b[graph_backend::Shape::max_rank];
};

/// A window that moves over planes. The kernels have the same struct.
struct Window {
  std::int64_t height, width, out_height, out_width;
  std::int64_t kernel_h, kernel_w, stride_h, stride_w, padding_h, padding_w, dilation_h, dilation_w;
};

}  // namespace opencl_backend
