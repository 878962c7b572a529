// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "tenon/abi/draft/edge_program.h"
#include "tenon/aot/edge_value.hpp"
#include "tenon/core/scalar_type.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

// gcc 12 takes an enumerator of a scoped enumeration for a shadow of a type of the same name that
// an earlier header declared (program_data.hpp).
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
/// The kind of an argument of a node.
enum class EdgeArgumentKind : std::uint32_t {
  None = TENON_EDGE_ARG_NONE,
  Value = TENON_EDGE_ARG_VALUE,
  Values = TENON_EDGE_ARG_VALUES,
  Bool = TENON_EDGE_ARG_BOOL,
  Int = TENON_EDGE_ARG_INT,
  Double = TENON_EDGE_ARG_DOUBLE,
  String = TENON_EDGE_ARG_STRING,
  Bools = TENON_EDGE_ARG_BOOLS,
  Ints = TENON_EDGE_ARG_INTS,
  Doubles = TENON_EDGE_ARG_DOUBLES,
  ScalarType = TENON_EDGE_ARG_SCALAR_TYPE,
  Layout = TENON_EDGE_ARG_LAYOUT,
  MemoryFormat = TENON_EDGE_ARG_MEMORY_FORMAT,
  Device = TENON_EDGE_ARG_DEVICE,
};
#pragma GCC diagnostic pop

/// Name of `kind` for texts of errors.
[[nodiscard]] constexpr std::string_view name_of(EdgeArgumentKind kind) noexcept {
  constexpr std::string_view names[] = {"None",
                                        "a value",
                                        "a list of values",
                                        "a bool",
                                        "an int",
                                        "a double",
                                        "a text",
                                        "bools",
                                        "ints",
                                        "doubles",
                                        "a scalar type",
                                        "a layout",
                                        "a memory format",
                                        "a device"};
  const auto index = static_cast<std::size_t>(kind);
  return index < std::size(names) ? names[index] : std::string_view("an unknown kind");
}

/// One argument of a node. Refers to the program and costs one pointer. Each reader gives nothing
/// when the argument is of another kind.
class EdgeArgument {
 public:
  explicit EdgeArgument(const tenon_edge_argument& argument) noexcept : argument_(&argument) {}

  [[nodiscard]] EdgeArgumentKind kind() const noexcept {
    return static_cast<EdgeArgumentKind>(argument_->kind);
  }
  /// The parameter's name in the operator's schema.
  [[nodiscard]] std::string_view name() const noexcept { return argument_->name; }
  [[nodiscard]] bool is_none() const noexcept { return kind() == EdgeArgumentKind::None; }

  [[nodiscard]] std::optional<ValueId> value() const noexcept {
    if (kind() != EdgeArgumentKind::Value) return std::nullopt;
    return argument_->as.value;
  }
  /// `no_value` means None.
  [[nodiscard]] std::optional<std::span<const ValueId>> values() const noexcept {
    if (kind() != EdgeArgumentKind::Values) return std::nullopt;
    return std::span(argument_->as.values, argument_->count);
  }
  [[nodiscard]] std::optional<bool> boolean() const noexcept {
    if (kind() != EdgeArgumentKind::Bool) return std::nullopt;
    return argument_->as.boolean != 0;
  }
  [[nodiscard]] std::optional<std::int64_t> integer() const noexcept {
    if (kind() != EdgeArgumentKind::Int) return std::nullopt;
    return argument_->as.integer;
  }
  /// A number: a Double, or an Int or Bool that PyTorch accepts in its place (its Scalar).
  [[nodiscard]] std::optional<double> number() const noexcept {
    switch (kind()) {
      case EdgeArgumentKind::Double:
        return argument_->as.real;
      case EdgeArgumentKind::Int:
        return static_cast<double>(argument_->as.integer);
      case EdgeArgumentKind::Bool:
        return argument_->as.boolean != 0 ? 1.0 : 0.0;
      default:
        return std::nullopt;
    }
  }
  [[nodiscard]] std::optional<std::string_view> text() const noexcept {
    if (kind() != EdgeArgumentKind::String) return std::nullopt;
    return argument_->as.string;
  }
  [[nodiscard]] std::optional<std::span<const std::uint8_t>> booleans() const noexcept {
    if (kind() != EdgeArgumentKind::Bools) return std::nullopt;
    return std::span(argument_->as.booleans, argument_->count);
  }
  /// Integers that are all known ahead of time. Nothing when one of them is symbolic: see
  /// `symbols`.
  [[nodiscard]] std::optional<std::span<const std::int64_t>> integers() const noexcept {
    if (kind() != EdgeArgumentKind::Ints || argument_->symbols) return std::nullopt;
    return std::span(argument_->as.integers, argument_->count);
  }
  /// Elements of Ints where element i is value `symbols()[i]`, unless that is `no_value`: then it
  /// is `mixed_integers()[i]`. Empty when all are integers.
  [[nodiscard]] std::span<const ValueId> symbols() const noexcept {
    if (kind() != EdgeArgumentKind::Ints || !argument_->symbols) return {};
    return {argument_->symbols, argument_->count};
  }
  [[nodiscard]] std::span<const std::int64_t> mixed_integers() const noexcept {
    if (kind() != EdgeArgumentKind::Ints) return {};
    return {argument_->as.integers, argument_->count};
  }
  [[nodiscard]] std::optional<std::span<const double>> doubles() const noexcept {
    if (kind() != EdgeArgumentKind::Doubles) return std::nullopt;
    return std::span(argument_->as.reals, argument_->count);
  }
  [[nodiscard]] std::optional<ScalarType> scalar_type() const noexcept {
    if (kind() != EdgeArgumentKind::ScalarType) return std::nullopt;
    return static_cast<ScalarType>(argument_->as.integer);
  }
  /// The number of a Layout or MemoryFormat, as PyTorch's c10 counts them.
  [[nodiscard]] std::optional<std::int64_t> enumerator() const noexcept {
    if (kind() != EdgeArgumentKind::Layout && kind() != EdgeArgumentKind::MemoryFormat) {
      return std::nullopt;
    }
    return argument_->as.integer;
  }
  [[nodiscard]] std::optional<tenon_dl_device> device() const noexcept {
    if (kind() != EdgeArgumentKind::Device) return std::nullopt;
    return argument_->as.device;
  }

  /// Calls `visit(ValueId)` for each value that the argument reads.
  template <class Visit>
  void for_each_value(Visit&& visit) const {
    if (const auto one = value()) visit(*one);
    const std::span<const ValueId> several = values().value_or(std::span<const ValueId>());
    for (const ValueId id : several) {
      if (id != no_value) visit(id);
    }
    for (const ValueId id : symbols()) {
      if (id != no_value) visit(id);
    }
  }

  [[nodiscard]] const tenon_edge_argument& raw() const noexcept { return *argument_; }

 private:
  const tenon_edge_argument* argument_;
};

}}}  // namespace tenon::TENON_RELEASE::aot
