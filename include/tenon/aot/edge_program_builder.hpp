// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/abi/draft/edge_program.h"
#include "tenon/aot/edge_description.hpp"
#include "tenon/aot/edge_program.hpp"
#include "tenon/aot/owned_edge_program.hpp"
#include "tenon/aot/shared_bytes.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// Builds an edge program: by hand in tests, from an archive in a tool. The
/// first mistake is returned by `build`. Not thread-safe.
///
///     EdgeProgramBuilder graph("forward");
///     const ValueId x = graph.user_input("x", {ScalarType::Float, {2, 3}});
///     const ValueId y = graph.node("aten.relu.default", {{"self", EdgeRef{x}}},
///                                  {ScalarType::Float, {2, 3}});
///     graph.user_output(y);
///     TENON_TRY(const OwnedEdgeProgram program, std::move(graph).build());
class EdgeProgramBuilder {
 public:
  using Argument = std::pair<std::string, EdgeArgumentValue>;

  explicit EdgeProgramBuilder(std::string_view method_name = "forward")
      : parts_(std::make_unique<OwnedEdgeProgram::Parts>()) {
    parts_->program.struct_size = sizeof parts_->program;
    parts_->program.method_name = text(method_name);
  }

  ValueId user_input(std::string_view name, const EdgeTensor& tensor) {
    const ValueId id = add_tensor(name, EdgeOrigin::UserInput, tensor);
    parts_->inputs.push_back(id);
    return id;
  }

  /// A parameter, buffer or constant, by `origin`, of static sizes. `data` is dense in the tensor's
  /// dim order; no bytes mean that they are not known yet.
  ValueId stored(EdgeOrigin origin, std::string_view name, std::string_view fqn,
                 const EdgeTensor& tensor, SharedBytes data) {
    const ValueId id = add_tensor(name, origin, tensor);
    tenon_edge_value& value = parts_->values[id];
    value.fqn = text(fqn);
    const std::optional<std::size_t> expected = static_nbytes(tensor);
    if (origin == EdgeOrigin::Node || origin == EdgeOrigin::UserInput) {
      fail(concat("'", name, "' is stored, and neither a node nor the caller makes it"));
    } else if (!expected) {
      fail(concat("'", name, "' is stored and needs static sizes whose bytes can be counted"));
    } else if (!data.empty() && data.size() != *expected) {
      fail(concat("data of '", name, "' has ", data.size(), " bytes, expected ", *expected));
    }
    value.data = {data.bytes().data(), data.size()};
    parts_->kept.push_back(std::move(data));
    return id;
  }

  /// A symbolic number that the caller passes; `node_symbol` adds a symbolic number that a node
  /// makes.
  ValueId user_input_symbol(std::string_view name, const EdgeTensor::Size& range,
                            EdgeValueKind kind = EdgeValueKind::SymInt) {
    const ValueId id = add_symbol(name, EdgeOrigin::UserInput, kind, range);
    parts_->inputs.push_back(id);
    return id;
  }

  /// A node with one tensor as output, named like the node.
  ValueId node(std::string_view target, const std::vector<Argument>& arguments,
               const EdgeTensor& output, std::string_view name = {}) {
    const std::string own = name.empty() ? next_name(target) : std::string(name);
    const ValueId id = add_tensor(own, EdgeOrigin::Node, output);
    add_node(own, target, arguments, {id});
    return id;
  }

  /// A node with one symbolic number as output.
  ValueId node_symbol(std::string_view target, const std::vector<Argument>& arguments,
                      EdgeValueKind kind, const EdgeTensor::Size& range,
                      std::string_view name = {}) {
    const std::string own = name.empty() ? next_name(target) : std::string(name);
    const ValueId id = add_symbol(own, EdgeOrigin::Node, kind, range);
    add_node(own, target, arguments, {id});
    return id;
  }

  /// An output of the node that `add_node` adds next.
  ValueId node_output(std::string_view name, const EdgeTensor& tensor) {
    return add_tensor(name, EdgeOrigin::Node, tensor);
  }
  ValueId node_output_symbol(std::string_view name, EdgeValueKind kind,
                             const EdgeTensor::Size& range) {
    return add_symbol(name, EdgeOrigin::Node, kind, range);
  }

  /// A node whose outputs were made by `node_output`. `debug_handle` 0 means its position, from 1.
  void add_node(std::string_view name, std::string_view target,
                const std::vector<Argument>& arguments, const std::vector<ValueId>& outputs,
                std::string_view module_path = {}, std::uint32_t debug_handle = 0) {
    if (!node_names_.emplace(name).second) fail(concat("two nodes have the name '", name, "'"));
    tenon_edge_node node{};
    node.struct_size = sizeof node;
    node.name = text(name);
    node.target = text(target);
    node.module_path = module_path.empty() ? nullptr : text(module_path);
    node.debug_handle =
        debug_handle != 0 ? debug_handle : static_cast<std::uint32_t>(parts_->nodes.size() + 1);
    std::vector<tenon_edge_argument> list;
    list.reserve(arguments.size());
    for (const auto& [parameter, value] : arguments) {
      list.push_back(write_argument(name, parameter, value));
    }
    node.arguments = parts_->copy(list);
    node.num_arguments = static_cast<std::uint32_t>(list.size());
    node.outputs = parts_->copy(outputs);
    node.num_outputs = static_cast<std::uint32_t>(outputs.size());
    for (const ValueId id : outputs) {
      if (id >= known_.size() || known_[id]) {
        fail(concat("output of node '", name, "' is not a new value of a node"));
      } else {
        known_[id] = true;
      }
    }
    parts_->nodes.push_back(node);
  }

  void user_output(ValueId value) { add_output({EdgeOutputKind::UserOutput, value, no_value}); }
  /// `value` is the new content of buffer or user input `target`.
  void mutation(ValueId target, ValueId value) {
    if (!check(target, "target of a mutation")) return;
    const auto origin = static_cast<EdgeOrigin>(parts_->values[target].origin);
    if (origin != EdgeOrigin::Buffer && origin != EdgeOrigin::UserInput) {
      return fail(concat("'", parts_->values[target].name,
                         "' cannot be mutated: it is neither a buffer nor a user input"));
    }
    add_output({origin == EdgeOrigin::Buffer ? EdgeOutputKind::BufferMutation
                                             : EdgeOutputKind::UserInputMutation,
                value, target});
  }
  void add_output(const EdgeOutput& output) {
    if (!check(output.value, "output")) return;
    const bool is_mutation = output.kind != EdgeOutputKind::UserOutput;
    if (is_mutation && !check(output.target, "target of a mutation")) return;
    parts_->outputs.push_back({sizeof(tenon_edge_output), static_cast<std::uint32_t>(output.kind),
                               output.value, output.target});
  }

  /// InvalidProgram with the first mistake: a value that is read before it is made or never made, a
  /// name given twice, data of the wrong length, a dim order that is not a permutation.
  [[nodiscard]] Result<OwnedEdgeProgram> build() && {
    for (ValueId id = 0; id < known_.size(); ++id) {
      if (!known_[id]) fail(concat("no node makes '", parts_->values[id].name, "'"));
    }
    if (!mistake_.empty()) {
      return error(Error::InvalidProgram, "method '", parts_->program.method_name, "': ", mistake_);
    }
    tenon_edge_program& program = parts_->program;
    program.values = parts_->values.data();
    program.num_values = static_cast<std::uint32_t>(parts_->values.size());
    program.nodes = parts_->nodes.data();
    program.num_nodes = static_cast<std::uint32_t>(parts_->nodes.size());
    program.inputs = parts_->inputs.data();
    program.num_inputs = static_cast<std::uint32_t>(parts_->inputs.size());
    program.outputs = parts_->outputs.data();
    program.num_outputs = static_cast<std::uint32_t>(parts_->outputs.size());
    return OwnedEdgeProgram(std::move(parts_));
  }

 private:
  void fail(std::string mistake) {
    if (mistake_.empty()) mistake_ = std::move(mistake);
  }

  const char* text(std::string_view text) { return parts_->copy(text); }

  std::string next_name(std::string_view target) {
    // "aten.add.Tensor" -> "add", "add_1", ... as torch.fx names its nodes.
    const std::size_t first = target.find('.');
    const std::size_t start = first == std::string_view::npos ? 0 : first + 1;
    const std::string base(target.substr(start, target.find('.', start) - start));
    int& number = next_numbers_[base];  // Lower numbers are taken: a graph may have any number.
    std::string name = number == 0 ? base : concat(base, "_", number);
    while (names_.contains(name) || node_names_.contains(name)) {
      name = concat(base, "_", ++number);
    }
    return name;
  }

  /// Bytes of a dense tensor; nothing when a size is not static or the product does not fit.
  static std::optional<std::size_t> static_nbytes(const EdgeTensor& tensor) {
    std::size_t nbytes = size_of(tensor.scalar_type);
    for (const auto& size : tensor.sizes) {
      if (size.min != size.max || size.max < 0) return std::nullopt;
      const auto count = static_cast<std::size_t>(size.max);
      if (count != 0 && nbytes > std::numeric_limits<std::size_t>::max() / count) {
        return std::nullopt;
      }
      nbytes *= count;
    }
    return nbytes;
  }

  tenon_edge_size write_size(const EdgeTensor::Size& size, std::string_view name) {
    if (size.min < 0 || size.min > size.max) {
      fail(concat("'", name, "' has a size from ", size.min, " to ", size.max));
    }
    if (size.min != size.max && size.expression.empty()) {
      fail(concat("'", name, "' has a size that changes and no symbol for it"));
    }
    const char* const expression = size.min == size.max ? nullptr : text(size.expression);
    return {sizeof(tenon_edge_size), 0, expression, size.min, size.max};
  }

  ValueId add_value(std::string_view name, EdgeOrigin origin, EdgeValueKind kind) {
    if (!names_.emplace(name).second) fail(concat("two values have the name '", name, "'"));
    tenon_edge_value value{};
    value.struct_size = sizeof value;
    value.kind = static_cast<std::uint32_t>(kind);
    value.origin = static_cast<std::uint32_t>(origin);
    value.name = text(name);
    parts_->values.push_back(value);
    known_.push_back(origin != EdgeOrigin::Node);
    return static_cast<ValueId>(parts_->values.size() - 1);
  }

  ValueId add_tensor(std::string_view name, EdgeOrigin origin, const EdgeTensor& tensor) {
    const ValueId id = add_value(name, origin, EdgeValueKind::Tensor);
    std::vector<tenon_edge_size> sizes;
    sizes.reserve(tensor.sizes.size());
    for (const auto& size : tensor.sizes) sizes.push_back(write_size(size, name));
    std::vector<std::uint8_t> order = tensor.dim_order;
    for (std::size_t i = 0; tensor.dim_order.empty() && i < sizes.size(); ++i) {
      order.push_back(static_cast<std::uint8_t>(i));
    }
    check_dim_order(name, order, sizes.size());
    if (size_of(tensor.scalar_type) == 0) {
      fail(concat("'", name, "' has scalar type ", static_cast<int>(tensor.scalar_type),
                  ", which is not a scalar type"));
    }
    tenon_edge_value& value = parts_->values[id];
    value.rank = static_cast<std::uint32_t>(sizes.size());
    value.sizes = parts_->copy(sizes);
    value.dim_order = parts_->copy(order);
    value.scalar_type = static_cast<std::int8_t>(tensor.scalar_type);
    value.device = tensor.device;
    return id;
  }

  void check_dim_order(std::string_view name, const std::vector<std::uint8_t>& order,
                       std::size_t rank) {
    std::vector<bool> seen(rank);
    bool good = order.size() == rank && rank <= max_rank;
    for (const std::uint8_t dim : order) {
      good = good && dim < rank && !seen[dim];
      if (good) seen[dim] = true;
    }
    if (!good) {
      fail(concat("'", name, "' has a dim order that is not a permutation of its ", rank,
                  " dimensions (at most ", max_rank, ")"));
    }
  }

  ValueId add_symbol(std::string_view name, EdgeOrigin origin, EdgeValueKind kind,
                     const EdgeTensor::Size& range) {
    const ValueId id = add_value(name, origin, kind);
    if (range.min > range.max) {
      fail(concat("'", name, "' is a number from ", range.min, " to ", range.max));
    }
    const char* const expression = range.expression.empty() ? nullptr : text(range.expression);
    const tenon_edge_size size{sizeof(tenon_edge_size), 0, expression, range.min, range.max};
    parts_->values[id].sizes = parts_->copy(&size, 1);
    return id;
  }

  bool check(ValueId id, std::string_view what) {
    if (id < known_.size() && known_[id]) return true;
    fail(id < known_.size()
             ? concat(what, " reads '", parts_->values[id].name, "' before a node makes it")
             : concat(what, " reads value ", id, " of ", known_.size()));
    return false;
  }

  tenon_edge_argument write_argument(std::string_view node, std::string_view name,
                                     const EdgeArgumentValue& value);

  std::unique_ptr<OwnedEdgeProgram::Parts> parts_;
  std::set<std::string, std::less<>> names_;  ///< Of values.
  std::set<std::string, std::less<>> node_names_;
  std::map<std::string, int> next_numbers_;  ///< Of names that `next_name` makes.
  std::vector<bool> known_;  ///< By value: an input, or made by a node that was added.
  std::string mistake_;
};

inline tenon_edge_argument EdgeProgramBuilder::write_argument(std::string_view node,
                                                              std::string_view name,
                                                              const EdgeArgumentValue& value) {
  const std::string what = concat("argument '", name, "' of node '", node, "'");
  tenon_edge_argument out{};
  out.struct_size = sizeof out;
  out.name = text(name);
  const auto kind = [&](EdgeArgumentKind found, std::size_t count = 0) {
    out.kind = static_cast<std::uint32_t>(found);
    out.count = static_cast<std::uint32_t>(count);
  };
  const auto check_all = [&](const std::vector<ValueId>& ids) {
    for (const ValueId id : ids) {
      if (id != no_value) check(id, what);
    }
  };
  kind(EdgeArgumentKind::None);
  if (const auto* const ref = std::get_if<EdgeRef>(&value)) {
    kind(EdgeArgumentKind::Value);
    check(ref->id, what);
    out.as.value = ref->id;
  } else if (const auto* const ids = std::get_if<std::vector<ValueId>>(&value)) {
    kind(EdgeArgumentKind::Values, ids->size());
    check_all(*ids);
    out.as.values = parts_->copy(*ids);
  } else if (const auto* const boolean = std::get_if<bool>(&value)) {
    kind(EdgeArgumentKind::Bool);
    out.as.boolean = *boolean ? 1 : 0;
  } else if (const auto* const integer = std::get_if<std::int64_t>(&value)) {
    kind(EdgeArgumentKind::Int);
    out.as.integer = *integer;
  } else if (const auto* const real = std::get_if<double>(&value)) {
    kind(EdgeArgumentKind::Double);
    out.as.real = *real;
  } else if (const auto* const string = std::get_if<std::string>(&value)) {
    kind(EdgeArgumentKind::String);
    out.as.string = text(*string);
  } else if (const auto* const booleans = std::get_if<std::vector<bool>>(&value)) {
    kind(EdgeArgumentKind::Bools, booleans->size());
    out.as.booleans = parts_->copy(std::vector<std::uint8_t>(booleans->begin(), booleans->end()));
  } else if (const auto* const ints = std::get_if<EdgeInts>(&value)) {
    kind(EdgeArgumentKind::Ints, ints->integers.size());
    out.as.integers = parts_->copy(ints->integers);
    if (!ints->symbols.empty() && ints->symbols.size() != ints->integers.size()) {
      fail(concat(what, " has ", ints->integers.size(), " integers and ", ints->symbols.size(),
                  " symbols"));
    } else if (!ints->symbols.empty()) {
      check_all(ints->symbols);
      out.symbols = parts_->copy(ints->symbols);
    }
  } else if (const auto* const reals = std::get_if<std::vector<double>>(&value)) {
    kind(EdgeArgumentKind::Doubles, reals->size());
    out.as.reals = parts_->copy(*reals);
  } else if (const auto* const enumerator = std::get_if<EdgeEnumerator>(&value)) {
    kind(enumerator->kind);
    out.as.integer = enumerator->number;
  } else if (const auto* const device = std::get_if<tenon_dl_device>(&value)) {
    kind(EdgeArgumentKind::Device);
    out.as.device = *device;
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::aot
