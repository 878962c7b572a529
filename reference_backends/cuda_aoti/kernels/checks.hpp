// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "kernels.hpp"

// Checks of tensors that the functions of kernels.hpp share.
namespace tenon::cuda_aoti::kernels {

using Shape = std::initializer_list<std::int64_t>;

[[nodiscard]] inline Status check_device(std::string_view name, const ModelTensor& tensor,
                                         std::int32_t device_index) {
  if (tensor.device_type != aoti::TorchDeviceType::cuda || tensor.device_index != device_index) {
    return error(Error::InvalidArgument, name, ": expected memory of CUDA device ", device_index,
                 ", found device type ", static_cast<std::int32_t>(tensor.device_type), ", device ",
                 tensor.device_index);
  }
  return ok();
}

[[nodiscard]] inline Status check_type(std::string_view name, const ModelTensor& tensor,
                                       std::initializer_list<ScalarType> types) {
  for (const ScalarType type : types) {
    if (tensor.scalar_type == type) return ok();
  }
  std::string expected;
  for (const ScalarType type : types) {
    if (!expected.empty()) expected += " or ";
    expected += name_of(type);
  }
  return error(Error::InvalidArgument, name, ": expected ", expected, ", found ",
               name_of(tensor.scalar_type));
}

[[nodiscard]] inline Status check_sizes(std::string_view name, const ModelTensor& tensor,
                                        std::span<const std::int64_t> sizes) {
  bool same = tensor.rank == static_cast<std::int32_t>(sizes.size());
  for (std::size_t d = 0; same && d < sizes.size(); ++d) same = tensor.sizes[d] == sizes[d];
  if (same) return ok();
  return error(Error::InvalidArgument, name, ": expected sizes ", shape_text(sizes), ", found ",
               shape_text(tensor.shape()));
}

[[nodiscard]] inline Status check_rank(std::string_view name, const ModelTensor& tensor,
                                       std::int32_t rank) {
  if (tensor.rank == rank) return ok();
  return error(Error::InvalidArgument, name, ": expected ", rank, " dimensions, found ",
               shape_text(tensor.shape()));
}

[[nodiscard]] inline Status check_contiguous(std::string_view name, const ModelTensor& tensor) {
  if (tensor.is_contiguous()) return ok();
  return error(Error::InvalidArgument, name, ": expected contiguous elements, found strides ",
               shape_text(tensor.step()), " for sizes ", shape_text(tensor.shape()));
}

[[nodiscard]] inline bool is_aligned(const ModelTensor& tensor, std::size_t to) noexcept {
  return reinterpret_cast<std::uintptr_t>(tensor.data) % to == 0;
}

[[nodiscard]] inline Status check_aligned(std::string_view name, const ModelTensor& tensor,
                                          std::size_t to) {
  if (is_aligned(tensor, to)) return ok();
  return error(Error::InvalidArgument, name, ": expected an address that is a multiple of ", to);
}

/// Largest grid in x; the limit of y and z is 65535.
inline constexpr std::int64_t max_grid_x = std::numeric_limits<std::int32_t>::max();
inline constexpr std::int64_t max_grid_y = 65535;

[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) noexcept {
  return a / b + (a % b != 0);
}

struct Blocks {
  std::int64_t x;
  std::int64_t y = 1;
  std::int64_t z = 1;
};

/// Launches `blocks` blocks of `threads`.
template <class... Parameters>
[[nodiscard]] Status launch_blocks(const Launcher& launcher, const char* function, Blocks blocks,
                                   std::array<unsigned, 3> threads, Parameters&... parameters) {
  if (blocks.x > max_grid_x || blocks.y > max_grid_y || blocks.z > max_grid_y) {
    return error(Error::NotSupported, std::string_view(function), ": ", blocks.x, " by ", blocks.y,
                 " by ", blocks.z, " blocks, more than the ", max_grid_x, " by ", max_grid_y,
                 " of a launch");
  }
  void* const pointers[] = {
      const_cast<void*>(static_cast<const void*>(&parameters))...};  // cuLaunchKernel only reads.
  return launcher({function,
                   {static_cast<unsigned>(blocks.x), static_cast<unsigned>(blocks.y),
                    static_cast<unsigned>(blocks.z)},
                   threads,
                   pointers});
}

}  // namespace tenon::cuda_aoti::kernels
