// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/aot/compiler/pt2/sym_expression.hpp"
#include "tenon/aot/edge_description.hpp"
#include "tenon/aot/edge_program_builder.hpp"
#include "tenon/aot/owned_edge_program.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/core/sha256.hpp"
#include "tenon/host/layers/trust/impl/field_hasher.hpp"

namespace tenon::python {

/// A program, and the Python objects whose memory its weights are in. Destroyed with the GIL held,
/// as all objects of Python are.
struct Program {
  aot::OwnedEdgeProgram program;
  nanobind::list kept;
  Sha256 calls;                ///< Of the arguments of all calls that built it, without elements.
  std::vector<Bytes> weights;  ///< Elements, in the memory of `kept`.
};

/// Builds the description of an exported program from what `tenon.executorch._edge` reads in
/// Python. A tensor is `(scalar type, sizes, dim order)`; a size is an int, or the text by which
/// sympy builds the expression again (`sympy.srepr`), as PyTorch's archive writes it: both ways of
/// compiling therefore give a backend the same texts and ranges. The first mistake is raised by
/// `build`, except for expressions and arguments that cannot be read, which are raised at once.
class ProgramBuilder {
 public:
  /// `ranges`: (lower, upper) by symbol; None is no bound.
  ProgramBuilder(const std::string& method_name, const nanobind::dict& ranges);

  aot::ValueId user_input(const std::string& name, const nanobind::tuple& tensor);
  aot::ValueId user_input_symbol(const std::string& name, std::uint32_t kind,
                                 const nanobind::object& number);
  /// `keep` is what owns the `nbytes` bytes at `address`, which are used where they are. None when
  /// the elements are not known yet.
  aot::ValueId stored(std::uint32_t origin, const std::string& name, const std::string& fqn,
                      const nanobind::tuple& tensor, std::uintptr_t address, std::size_t nbytes,
                      const nanobind::object& keep);
  aot::ValueId node_output(const std::string& name, const nanobind::tuple& tensor);
  aot::ValueId node_output_symbol(const std::string& name, std::uint32_t kind,
                                  const nanobind::object& number);
  /// `arguments`: (parameter, kind, value) each; the kind is an EdgeArgumentKind.
  void add_node(const std::string& name, const std::string& target, const nanobind::list& arguments,
                const nanobind::list& outputs, const std::string& module_path,
                std::uint32_t debug_handle);
  void user_output(aot::ValueId value);
  void mutation(aot::ValueId target, aot::ValueId value);
  [[nodiscard]] Program build();

 private:
  [[nodiscard]] aot::EdgeTensor::Size size_of(nanobind::handle size, std::string_view name) const;
  [[nodiscard]] aot::EdgeTensor::Size range_of(aot::EdgeValueKind kind, nanobind::handle number,
                                               std::string_view name) const;
  [[nodiscard]] aot::EdgeTensor tensor_of(const nanobind::tuple& tensor,
                                          std::string_view name) const;

  /// Adds the arguments of a call, as Python prints them, to what the program is known by.
  template <class... Arguments>
  void note(const Arguments&... arguments) {
    const nanobind::tuple all = nanobind::make_tuple(arguments...);
    calls_.text(nanobind::repr(all).c_str());
  }

  aot::EdgeProgramBuilder builder_;
  aot::detail::SymRanges ranges_;
  nanobind::list kept_;
  host::detail::FieldHasher calls_;
  std::vector<Bytes> weights_;
};

}  // namespace tenon::python
