// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "operators/arguments.hpp"
#include "strided.hpp"
#include "tenon/core/result.hpp"

namespace tenon::cpu_aoti {

/// How much an element counts that is some distance away from the position in question.
enum class ResizeFilter : std::uint8_t { linear, cubic };

/// How images are resized. A scale is the output's, as the model was exported with; without one
/// above 0 the sizes decide. A dimension whose size stays is left as it is.
struct Resize {
  ResizeFilter filter;
  Sizes output_size;  ///< Height and width.
  bool align_corners = false;
  std::optional<double> scale_height{}, scale_width{};
};

/// Images (N, C, H, W) of another size, of Float or Double. Where an image becomes smaller, the
/// filter is as much wider (PyTorch's antialias=True). The result is in row-major order, or has its
/// channels last where the images have.
///
/// PyTorch 2.15 computes other numbers than this for a width of 1 where channels are not last: each
/// row has the numbers of the first. A scale by which less than one element would be left is
/// refused; PyTorch makes zeros.
Status resize_images(const ModelTensor& images, const Resize& how, OwnedTensor& out);

}  // namespace tenon::cpu_aoti
