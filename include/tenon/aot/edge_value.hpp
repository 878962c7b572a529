// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "tenon/abi/draft/edge_program.h"
#include "tenon/core/bytes.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/core/struct_size.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// Number of a value in its program. `no_value` means None.
using ValueId = std::uint32_t;
inline constexpr ValueId no_value = TENON_NO_VALUE;

/// One size of a tensor, or the range of a symbolic number; both ends included.
struct EdgeSize {
  static constexpr std::int64_t unbounded = std::numeric_limits<std::int64_t>::max();

  std::int64_t min = 0;
  std::int64_t max = 0;         ///< `unbounded` when the exporter gave no bound.
  std::string_view expression;  ///< "s77", "2*s77"; empty when static.

  [[nodiscard]] bool is_static() const noexcept { return min == max; }
  /// Equal sizes at every run.
  [[nodiscard]] bool operator==(const EdgeSize& other) const noexcept {
    return is_static() ? other.is_static() && min == other.min : expression == other.expression;
  }
};

/// The kind of a value.
enum class EdgeValueKind : std::uint32_t {
  Tensor = TENON_EDGE_TENSOR,
  SymInt = TENON_EDGE_SYM_INT,
  SymFloat = TENON_EDGE_SYM_FLOAT,
  SymBool = TENON_EDGE_SYM_BOOL,
};

/// The origin of a value, with the names of torch.export's InputKind.
enum class EdgeOrigin : std::uint32_t {
  Node = TENON_EDGE_FROM_NODE,
  UserInput = TENON_EDGE_USER_INPUT,
  Parameter = TENON_EDGE_PARAMETER,
  Buffer = TENON_EDGE_BUFFER,
  Constant = TENON_EDGE_CONSTANT,
};

/// One value of an edge program. Refers to the program and costs one pointer.
class EdgeValue {
 public:
  explicit EdgeValue(const tenon_edge_value& value) noexcept : value_(&value) {}

  [[nodiscard]] EdgeValueKind kind() const noexcept {
    return static_cast<EdgeValueKind>(value_->kind);
  }
  [[nodiscard]] bool is_tensor() const noexcept { return kind() == EdgeValueKind::Tensor; }
  [[nodiscard]] EdgeOrigin origin() const noexcept {
    return static_cast<EdgeOrigin>(value_->origin);
  }
  /// A parameter, buffer or constant: its elements are known ahead of time.
  [[nodiscard]] bool has_fqn() const noexcept { return value_->fqn != nullptr; }

  [[nodiscard]] std::string_view name() const noexcept { return value_->name; }
  /// Fully-qualified name of a parameter, buffer or constant; empty for other values.
  [[nodiscard]] std::string_view fqn() const noexcept {
    return value_->fqn ? std::string_view(value_->fqn) : std::string_view();
  }
  /// Elements of a parameter, buffer or constant, dense in `dim_order`. Empty for other values, and
  /// while a partitioner looks at a program without data.
  [[nodiscard]] Bytes data() const noexcept {
    return {static_cast<const std::byte*>(value_->data.data),
            static_cast<std::size_t>(value_->data.size)};
  }

  [[nodiscard]] ScalarType scalar_type() const noexcept {
    return static_cast<ScalarType>(value_->scalar_type);
  }
  [[nodiscard]] std::size_t rank() const noexcept { return value_->rank; }
  /// Size number `dim`, below `rank()`.
  [[nodiscard]] EdgeSize size(std::size_t dim) const noexcept {
    return read(tenon::detail::StridedArray<tenon_edge_size>(value_->sizes, value_->rank)[dim]);
  }
  /// Range of a symbolic integer.
  [[nodiscard]] EdgeSize range() const noexcept { return read(*value_->sizes); }
  [[nodiscard]] std::span<const std::uint8_t> dim_order() const noexcept {
    return {value_->dim_order, value_->rank};
  }
  [[nodiscard]] bool is_static() const noexcept {
    for (std::size_t i = 0; i < rank(); ++i) {
      if (!size(i).is_static()) return false;
    }
    return true;
  }
  /// Elements at the largest sizes; `EdgeSize::unbounded` when one has no bound or the product does
  /// not fit.
  [[nodiscard]] std::int64_t max_numel() const noexcept {
    std::int64_t numel = 1;
    bool too_large = false;
    for (std::size_t i = 0; i < rank(); ++i) {
      const std::int64_t max = size(i).max;
      if (max == 0) return 0;
      if (numel > EdgeSize::unbounded / max) too_large = true;
      numel = too_large ? EdgeSize::unbounded : numel * max;
    }
    return numel;
  }
  [[nodiscard]] tenon_dl_device device() const noexcept { return value_->device; }

  [[nodiscard]] const tenon_edge_value& raw() const noexcept { return *value_; }

 private:
  static EdgeSize read(const tenon_edge_size& size) noexcept {
    return {size.min, size.max,
            size.expression ? std::string_view(size.expression) : std::string_view()};
  }

  const tenon_edge_value* value_;
};

}}}  // namespace tenon::TENON_RELEASE::aot
