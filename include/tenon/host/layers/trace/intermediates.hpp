// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tenon/core/scalar_type.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// A tensor that a method computes on the way to its outputs, and can give
/// (`Method::intermediates`).
struct Intermediate {
  /// The number of the delegate that computes it; absent for the result of a kernel.
  std::optional<std::size_t> delegate;
  /// Of a delegate, the handle that its backend gave the step. Of a kernel, the number of its
  /// instruction, counted through all chains.
  std::int64_t handle = 0;
  /// The step as the backend calls it, or the operator of the kernel. A kernel with several results
  /// has one Intermediate for each, in the order of its arguments.
  std::string name;
  std::size_t result = 0;  ///< Of a kernel: which of them.

  /// The nodes of the exported program that the step computes, by their debug handles, and the
  /// names of those nodes; this is the result of the last. Empty when the program was compiled
  /// without its debug handles (`aot::EmitOptions::debug_handles`), or the step is of no node.
  std::vector<std::uint32_t> debug_handles;
  std::vector<std::string> nodes;
};

/// One tensor of the last run.
struct IntermediateTensor {
  std::size_t intermediate = 0;  ///< Its number in `Method::intermediates`.
  ScalarType type = ScalarType::Float;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;  ///< The elements in the order of the dimensions.
};

}}}  // namespace tenon::TENON_RELEASE::host
