// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/aot/edge_argument.hpp"
#include "tenon/aot/edge_value.hpp"
#include "tenon/core/scalar_type.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// Shape and element type of a tensor in an edge program.
struct EdgeTensor {
  struct Size {
    Size(std::int64_t size) : min(size), max(size) {}
    Size(std::int64_t smallest, std::int64_t largest, std::string symbol)
        : min(smallest), max(largest), expression(std::move(symbol)) {}
    std::int64_t min;
    std::int64_t max;
    std::string expression;
  };

  ScalarType scalar_type = ScalarType::Float;
  std::vector<Size> sizes;
  std::vector<std::uint8_t> dim_order = {};  ///< Empty: 0, 1, 2, ...
  tenon_dl_device device{TENON_DL_CPU, 0};
};

/// Numbers for a node's argument that may be known only at run time.
struct EdgeInts {
  EdgeInts(std::vector<std::int64_t> numbers) : integers(std::move(numbers)) {}
  EdgeInts(std::vector<std::int64_t> numbers, std::vector<ValueId> values)
      : integers(std::move(numbers)), symbols(std::move(values)) {}
  std::vector<std::int64_t> integers;
  std::vector<ValueId> symbols;  ///< Empty, or as long: the value in its place, or `no_value`.
};

/// A value given to a node. A type of its own, because an int is a number.
struct EdgeRef {
  ValueId id = no_value;
};

/// One of PyTorch's enumerations, by its number there.
struct EdgeEnumerator {
  EdgeArgumentKind kind = EdgeArgumentKind::Layout;  ///< ScalarType, Layout or MemoryFormat.
  std::int64_t number = 0;
};

/// An argument of a node. `std::monostate` is None.
using EdgeArgumentValue =
    std::variant<std::monostate, EdgeRef, std::vector<ValueId>, bool, std::int64_t, double,
                 std::string, std::vector<bool>, EdgeInts, std::vector<double>, EdgeEnumerator,
                 tenon_dl_device>;

}}}  // namespace tenon::TENON_RELEASE::aot
