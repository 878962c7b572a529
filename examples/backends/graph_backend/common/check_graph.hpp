// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <tenon/core/result.hpp>

#include "common/graph.hpp"
#include "common/shape.hpp"

namespace graph_backend {

/// Alignment of tensors in the scratch memory, in bytes: a cache line.
inline constexpr std::uint64_t scratch_alignment = 64;

[[nodiscard]] constexpr std::uint64_t align_up(std::uint64_t offset) noexcept {
  return (offset + scratch_alignment - 1) / scratch_alignment * scratch_alignment;
}

/// A tensor at its largest sizes, without data.
[[nodiscard]] inline Operand largest(const blob::TensorT& tensor) {
  return {static_cast<tenon::ScalarType>(tensor.scalar_type),
          Shape(std::span<const std::int32_t>(tensor.sizes)), nullptr};
}

/// Checks what `read_graph` promises, of a graph in which vectors have sensible lengths. Writers
/// run it too, so that no blob leaves that would not be read.
///
/// errors: InvalidProgram
[[nodiscard]] tenon::Status check_graph(const Graph& graph);

}  // namespace graph_backend
