// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/aot/edge_argument.hpp"
#include "tenon/aot/edge_program.hpp"
#include "tenon/aot/edge_value.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/status.hpp"
#include "tenon/core/visible.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// A node of a program as a compiler reads it: its arguments by the names of the operator's schema,
/// each as the type that the operator is compiled with.
///
///     const aot::EdgeCall call(program, node);
///     TENON_TRY(const aot::ValueId x, call.tensor("self"));
///     TENON_TRY(const double alpha, call.number("alpha", 1));
///     if (alpha != 1) return call.refuse_argument("alpha", "1");
///
/// An argument that is None or left out has the default of the schema, which the caller passes.
/// Without one the argument is required.
///
/// errors: NotSupported for an argument of another kind: "node 'add' (aten.add.Tensor): argument
///         'alpha': expected a number, found a tensor"
///
/// Refers to the program, which must outlive it. Costs two pointers and may be copied. Reading from
/// several threads is safe. A compiler derives from it to add what its results become.
class EdgeCall {
 public:
  EdgeCall(const EdgeProgram& program, const EdgeNode& node) noexcept
      : program_(program), node_(node) {}

  [[nodiscard]] const EdgeProgram& program() const noexcept { return program_; }
  [[nodiscard]] const EdgeNode& node() const noexcept { return node_; }
  /// Output number `index` of the node, which must have it.
  [[nodiscard]] EdgeValue result(std::size_t index = 0) const noexcept {
    return program_.value(node_.outputs()[index]);
  }

  /// Whether the argument is given and not None.
  [[nodiscard]] bool has(std::string_view name) const noexcept { return given(name).has_value(); }

  [[nodiscard]] Result<ValueId> tensor(std::string_view name) const {
    TENON_TRY(const auto found, optional_tensor(name));
    if (!found) return refuse_argument(name, "a tensor");
    return *found;
  }
  /// Nothing when the argument is None or left out.
  [[nodiscard]] Result<std::optional<ValueId>> optional_tensor(std::string_view name) const {
    const auto argument = given(name);
    if (!argument) return std::optional<ValueId>();
    const auto value = argument->value();
    if (!value || !program_.value(*value).is_tensor()) return refuse_argument(name, "a tensor");
    return value;
  }
  /// `tensor` as the program describes it.
  [[nodiscard]] Result<EdgeValue> described(std::string_view name) const {
    TENON_TRY(const ValueId value, tensor(name));
    return program_.value(value);
  }
  /// A list of tensors without None among them.
  [[nodiscard]] Result<std::span<const ValueId>> tensors(std::string_view name) const {
    const auto argument = given(name);
    const auto values = argument ? argument->values() : std::nullopt;
    if (!values) return refuse_argument(name, "tensors");
    for (const ValueId value : *values) {
      if (value == no_value || !program_.value(value).is_tensor()) {
        return refuse_argument(name, "tensors alone", "a list with other elements");
      }
    }
    return *values;
  }

  /// An integer or a bool is a number, too.
  [[nodiscard]] Result<double> number(std::string_view name,
                                      std::optional<double> initial = std::nullopt) const {
    return read(name, initial, &EdgeArgument::number, "a number that is known ahead of time");
  }
  [[nodiscard]] Result<std::int64_t> integer(
      std::string_view name, std::optional<std::int64_t> initial = std::nullopt) const {
    return read(name, initial, &EdgeArgument::integer, "an integer that is known ahead of time");
  }
  [[nodiscard]] Result<bool> boolean(std::string_view name,
                                     std::optional<bool> initial = std::nullopt) const {
    return read(name, initial, &EdgeArgument::boolean, "a bool");
  }
  [[nodiscard]] Result<std::string_view> text(
      std::string_view name, std::optional<std::string_view> initial = std::nullopt) const {
    return read(name, initial, &EdgeArgument::text, "a text");
  }
  /// A list of integers, or one without a list.
  [[nodiscard]] Result<std::vector<std::int64_t>> integers(
      std::string_view name, std::vector<std::int64_t> initial = {}) const {
    const auto argument = given(name);
    if (!argument) return initial;
    if (const auto one = argument->integer()) return std::vector{*one};
    // An empty list has no type of its own.
    if (argument->raw().count == 0 && argument->values()) return std::vector<std::int64_t>();
    const auto integers = argument->integers();
    if (!integers) return refuse_argument(name, "integers that are known ahead of time");
    return std::vector<std::int64_t>(integers->begin(), integers->end());
  }
  /// As many integers from 0 on as a window has dimensions ("kernel_size", "stride"). One integer
  /// is for all dimensions.
  [[nodiscard]] Result<std::vector<std::int64_t>> window(std::string_view name, std::size_t rank,
                                                         std::int64_t initial) const {
    TENON_TRY(auto out, integers(name, {initial}));
    if (out.size() == 1) out.resize(rank, out[0]);
    if (out.size() != rank) return refuse_argument(name, concat("1 or ", rank, " integers"));
    if (std::ranges::any_of(out, [](std::int64_t one) { return one < 0; })) {
      return refuse_argument(name, "integers from 0 on");
    }
    return out;
  }
  /// A dimension of a tensor of `rank` dimensions, which negative numbers count from the end.
  [[nodiscard]] Result<std::int64_t> dim(std::string_view name, std::size_t rank,
                                         std::optional<std::int64_t> initial = std::nullopt) const {
    TENON_TRY(const std::int64_t number, integer(name, initial));
    return dim_of(name, number, rank);
  }
  /// Dimensions of such a tensor. All of them when the list is empty, None or left out.
  [[nodiscard]] Result<std::vector<std::int64_t>> dims(std::string_view name,
                                                       std::size_t rank) const {
    TENON_TRY(auto out, integers(name));
    if (out.empty()) {
      out.resize(rank);
      std::iota(out.begin(), out.end(), 0);
    }
    for (std::int64_t& one : out) {
      TENON_TRY(one, dim_of(name, one, rank));
    }
    return out;
  }
  /// NotSupported unless the argument is None or left out.
  [[nodiscard]] Status expect_none(std::string_view name) const {
    return has(name) ? refuse_argument(name, "None") : ok();
  }

  /// NotSupported, with the node and its operator before the pieces of the reason.
  template <class... Pieces>
  [[nodiscard]] Status refuse(const Pieces&... pieces) const {
    return in_context(error(Error::NotSupported, pieces...));
  }
  /// NotSupported for an argument, with the node and its operator: "argument 'groups': expected a
  /// divisor of 6, found 4". What is found is the argument itself, unless it is passed.
  [[nodiscard]] Status refuse_argument(std::string_view name, std::string_view expected,
                                       std::string_view found = {}) const {
    const std::string described = found.empty() ? describe(name) : std::string(found);
    return refuse("argument '", name, "': expected ", expected, ", found ", described);
  }
  /// `status` with the node and its operator before its text, unless they are there: for failures
  /// of what a compiler calls on the way. Success stays.
  [[nodiscard]] Status in_context(Status status) const {
    if (status.ok()) return status;
    const std::string where = concat("node '", node_.name(), "' (", node_.target(), ")");
    const bool is_named = status.text().starts_with(tenon::detail::visible(concat(where, ": ")));
    return is_named ? std::move(status) : std::move(status).with_context(where);
  }

 private:
  [[nodiscard]] std::optional<EdgeArgument> given(std::string_view name) const noexcept {
    const auto argument = node_.find(name);
    return argument && !argument->is_none() ? argument : std::nullopt;
  }

  template <class T>
  [[nodiscard]] Result<T> read(std::string_view name, std::optional<T> initial,
                               std::optional<T> (EdgeArgument::*reader)() const noexcept,
                               std::string_view expected) const {
    const auto argument = given(name);
    if (!argument && initial) return *initial;
    const auto found = argument ? ((*argument).*reader)() : std::nullopt;
    if (!found) return refuse_argument(name, expected);
    return *found;
  }

  [[nodiscard]] Result<std::int64_t> dim_of(std::string_view name, std::int64_t number,
                                            std::size_t rank) const {
    const auto count = static_cast<std::int64_t>(rank);
    if (number < -count || number >= count) {
      return refuse_argument(name, concat("a dimension of a tensor with ", rank), concat(number));
    }
    return number < 0 ? number + count : number;
  }

  /// The argument for the text of an error: numbers and texts as they are, others by their kind.
  [[nodiscard]] std::string describe(std::string_view name) const {
    const auto argument = node_.find(name);
    if (!argument) return "nothing";
    if (const auto value = argument->value()) return kind_of(program_.value(*value));
    if (const auto boolean = argument->boolean()) return concat(*boolean);
    if (const auto integer = argument->integer()) return concat(*integer);
    if (const auto number = argument->number()) return concat(*number);
    if (const auto text = argument->text())
      return concat("'", tenon::detail::visible_part(*text, 64), "'");
    if (!argument->symbols().empty()) return "integers of which some are symbolic";
    if (const auto integers = argument->integers()) {
      constexpr std::size_t most = 8;
      std::string out = "[";
      for (const std::int64_t one : integers->first(std::min(integers->size(), most))) {
        out += concat(out.size() == 1 ? "" : ", ", one);
      }
      return out + (integers->size() > most ? ", ...]" : "]");
    }
    return std::string(name_of(argument->kind()));
  }

  [[nodiscard]] static std::string kind_of(const EdgeValue& value) {
    switch (value.kind()) {
      case EdgeValueKind::Tensor:
        return "a tensor";
      case EdgeValueKind::SymInt:
        return "a symbolic integer";
      case EdgeValueKind::SymFloat:
        return "a symbolic number";
      case EdgeValueKind::SymBool:
        return "a symbolic bool";
    }
    return "a value of an unknown kind";
  }

  EdgeProgram program_;
  EdgeNode node_;
};

}}}  // namespace tenon::TENON_RELEASE::aot
