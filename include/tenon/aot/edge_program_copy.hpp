// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/abi/draft/edge_program.h"
#include "tenon/aot/edge_program.hpp"

/// Copies of the structs that describe a program. The elements of weights are left to the store.
namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// The part of a description that the next pieces of a copy belong to.
enum class ProgramPart : std::uint8_t { method, value, node, inputs, outputs };

/// Element `index` of an array of the boundary with the members that this header knows: the other
/// side may know fewer, or more.
template <class Struct>
Struct copy_struct(const Struct* first, std::size_t index) {
  const auto* const from = reinterpret_cast<const std::byte*>(first) + index * first->struct_size;
  Struct out{};
  std::memcpy(&out, from, std::min<std::size_t>(first->struct_size, sizeof out));
  out.struct_size = sizeof out;
  return out;
}

/// Copies a program into `Store`, which keeps the pieces where they are:
///
///     void enter(ProgramPart, std::uint32_t index, std::size_t step)  // `step` != 0: an array
///     T* copy(const T* elements, std::size_t count)                   // null for no elements
///     const char* copy(std::string_view text)                        // with a NUL behind it
///     tenon_span data(const tenon_edge_value& value)                  // in place of its data
template <class Store>
class ProgramCopier {
 public:
  explicit ProgramCopier(Store& store) noexcept : store_(store) {}

  [[nodiscard]] tenon_edge_program copy(const tenon_edge_program& program) {
    tenon_edge_program out = copy_struct(&program, 0);
    std::vector<tenon_edge_value> values;
    values.reserve(program.num_values);
    for (std::uint32_t i = 0; i < program.num_values; ++i) {
      store_.enter(ProgramPart::value, i, 0);
      values.push_back(copy_value(copy_struct(program.values, i)));
    }
    std::vector<tenon_edge_node> nodes;
    nodes.reserve(program.num_nodes);
    for (std::uint32_t i = 0; i < program.num_nodes; ++i) {
      store_.enter(ProgramPart::node, i, 0);
      nodes.push_back(copy_node(copy_struct(program.nodes, i)));
    }
    store_.enter(ProgramPart::method, 0, 0);
    out.method_name = text(program.method_name);
    store_.enter(ProgramPart::value, 0, sizeof(tenon_edge_value));
    out.values = store_.copy(values.data(), values.size());
    store_.enter(ProgramPart::node, 0, sizeof(tenon_edge_node));
    out.nodes = store_.copy(nodes.data(), nodes.size());
    store_.enter(ProgramPart::inputs, 0, 0);
    out.inputs = store_.copy(program.inputs, program.num_inputs);
    store_.enter(ProgramPart::outputs, 0, 0);
    out.outputs = copy_array(program.outputs, program.num_outputs);
    return out;
  }

 private:
  [[nodiscard]] const char* text(const char* from) {
    return from == nullptr ? nullptr : store_.copy(std::string_view(from));
  }

  template <class Struct>
  [[nodiscard]] Struct* copy_array(const Struct* first, std::uint32_t count) {
    std::vector<Struct> out;
    out.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) out.push_back(copy_struct(first, i));
    return store_.copy(out.data(), out.size());
  }

  [[nodiscard]] tenon_edge_value copy_value(tenon_edge_value value) {
    value.name = text(value.name);
    value.data = store_.data(value);
    value.fqn = text(value.fqn);
    // A symbolic number has one range; a tensor as many sizes as dimensions.
    std::vector<tenon_edge_size> sizes;
    const std::uint32_t count = value.kind == TENON_EDGE_TENSOR ? value.rank : 1;
    for (std::uint32_t i = 0; value.sizes != nullptr && i < count; ++i) {
      sizes.push_back(copy_struct(value.sizes, i));
      sizes.back().expression = text(sizes.back().expression);
    }
    value.sizes = store_.copy(sizes.data(), sizes.size());
    value.dim_order = store_.copy(value.dim_order, value.rank);
    return value;
  }

  [[nodiscard]] tenon_edge_node copy_node(tenon_edge_node node) {
    node.name = text(node.name);
    node.target = text(node.target);
    node.module_path = text(node.module_path);
    std::vector<tenon_edge_argument> arguments;
    arguments.reserve(node.num_arguments);
    for (std::uint32_t i = 0; i < node.num_arguments; ++i) {
      arguments.push_back(copy_argument(copy_struct(node.arguments, i)));
    }
    node.arguments = store_.copy(arguments.data(), arguments.size());
    node.outputs = store_.copy(node.outputs, node.num_outputs);
    return node;
  }

  [[nodiscard]] tenon_edge_argument copy_argument(tenon_edge_argument argument) {
    argument.name = text(argument.name);
    auto& as = argument.as;
    switch (argument.kind) {
      case TENON_EDGE_ARG_VALUES:
        as.values = store_.copy(as.values, argument.count);
        break;
      case TENON_EDGE_ARG_STRING:
        as.string = text(as.string);
        break;
      case TENON_EDGE_ARG_BOOLS:
        as.booleans = store_.copy(as.booleans, argument.count);
        break;
      case TENON_EDGE_ARG_INTS:
        as.integers = store_.copy(as.integers, argument.count);
        if (argument.symbols) argument.symbols = store_.copy(argument.symbols, argument.count);
        break;
      case TENON_EDGE_ARG_DOUBLES:
        as.reals = store_.copy(as.reals, argument.count);
        break;
      default:
        break;
    }
    return argument;
  }

  Store& store_;
};

}}}  // namespace tenon::TENON_RELEASE::aot::detail

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// A copy of a program that a backend may edit before it compiles it: the program that `preprocess`
/// gets is read-only. (ExecuTorch: BackendDetails.copy_exported_program_for_preprocess, whose
/// result `preprocess` may change.)
///
///     aot::EdgeProgramCopy copy(program);
///     for (std::size_t i = 0; i < copy.num_nodes(); ++i) {
///       if (copy.view().node(i).target() == "aten.relu_.default") {
///         copy.node(i).target = copy.keep("aten.relu.default");
///       }
///     }
///     compile(copy.view());
///
/// The description is copied as a whole; the elements of a weight when `data` asks for them, and
/// until then they are the original's, which must live as long. Edits are not checked: numbers of
/// values, names and counts must fit each other. Views and references of before stay valid, except
/// of nodes behind an erased node. Can be moved; not thread-safe.
class EdgeProgramCopy {
 public:
  explicit EdgeProgramCopy(const EdgeProgram& program)
      : program_(std::make_unique<tenon_edge_program>()) {
    *program_ = detail::ProgramCopier<EdgeProgramCopy>(*this).copy(program.raw());
  }

  /// The program as it is now.
  [[nodiscard]] EdgeProgram view() const noexcept { return EdgeProgram(*program_); }
  [[nodiscard]] tenon_edge_program& raw() noexcept { return *program_; }

  [[nodiscard]] std::size_t num_values() const noexcept { return program_->num_values; }
  [[nodiscard]] std::size_t num_nodes() const noexcept { return program_->num_nodes; }

  /// Value number `id`, below `num_values()`, to edit.
  [[nodiscard]] tenon_edge_value& value(ValueId id) noexcept {
    return const_cast<tenon_edge_value&>(program_->values[id]);  // Memory of this object.
  }
  /// Node number `index`, below `num_nodes()`, to edit.
  [[nodiscard]] tenon_edge_node& node(std::size_t index) noexcept {
    return const_cast<tenon_edge_node&>(program_->nodes[index]);
  }
  /// Argument number `argument` of a node, to edit.
  [[nodiscard]] tenon_edge_argument& argument(std::size_t node, std::size_t argument) noexcept {
    return const_cast<tenon_edge_argument&>(program_->nodes[node].arguments[argument]);
  }

  /// Elements of a parameter, buffer or constant, to edit: a copy of this object's own from the
  /// first call on. Empty for other values, and where the program has no data.
  [[nodiscard]] std::span<std::byte> data(ValueId id) {
    tenon_span& data = value(id).data;
    const auto size = static_cast<std::size_t>(data.size);
    if (size == 0) return {};
    std::byte*& own = data_[id];
    if (own == nullptr || own != data.data) {
      own = copy(static_cast<const std::byte*>(data.data), size);
      data.data = own;
    }
    return {own, size};
  }

  /// Removes a node; those behind it move up. Nothing may read its outputs any more. Takes time in
  /// proportion to the number of nodes.
  void erase_node(std::size_t index) noexcept {
    const std::size_t behind = program_->num_nodes - index - 1;
    std::memmove(&node(index), &node(index) + 1, behind * sizeof(tenon_edge_node));
    --program_->num_nodes;
  }

  /// A copy of `text` that lives as long as this object, for a field of the program.
  [[nodiscard]] const char* keep(std::string_view text) { return copy(text); }
  /// A copy of an array that lives as long as this object.
  template <class T>
  [[nodiscard]] const T* keep(std::span<const T> elements) {
    return copy(elements.data(), elements.size());
  }

 private:
  friend class detail::ProgramCopier<EdgeProgramCopy>;

  void enter(detail::ProgramPart, std::uint32_t, std::size_t) noexcept {}
  std::byte* allocate(std::size_t size) {
    return blocks_.emplace_back(std::make_unique<std::byte[]>(size)).get();
  }
  template <class T>
  T* copy(const T* elements, std::size_t count) {
    if (count == 0) return nullptr;
    void* const out = allocate(count * sizeof(T));
    std::memcpy(out, elements, count * sizeof(T));
    return static_cast<T*>(out);
  }
  const char* copy(std::string_view text) {
    auto* const out = reinterpret_cast<char*>(allocate(text.size() + 1));  // Zeros.
    text.copy(out, text.size());
    return out;
  }
  [[nodiscard]] static tenon_span data(const tenon_edge_value& value) noexcept {
    return value.data;
  }

  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::unordered_map<ValueId, std::byte*> data_;  ///< Own copies, by value.
  std::unique_ptr<tenon_edge_program> program_;
};

}}}  // namespace tenon::TENON_RELEASE::aot
