// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/abi/edge_program.h"
#include "tenon/aot/copy_program.hpp"
#include "tenon/aot/edge_program.hpp"

namespace tenon::aot {

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
/// until then they are the original's, which must live as long. Edits are not checked:
/// numbers of values, names and counts must fit each other. Views and references of before stay
/// valid, except of nodes behind one that is erased. Can be moved; not thread-safe.
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

}  // namespace tenon::aot
