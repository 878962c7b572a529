// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/abi/tensor.h"
#include "tenon/aot/compiler/impl/pt2/numbers.hpp"
#include "tenon/aot/edge_argument.hpp"
#include "tenon/aot/edge_description.hpp"
#include "tenon/aot/edge_value.hpp"
#include "tenon/core/json.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/files/quoted.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// Values of a graph by their names, as far as it has been read.
class Pt2Names {
 public:
  [[nodiscard]] Status add(const JsonAt& at, const std::string& name, ValueId id,
                           EdgeValueKind kind) {
    if (!numbers_.emplace(name, values_.size()).second) {
      return at.wrong("names ", host::quoted(name), ", which is the name of another value");
    }
    values_.push_back({id, kind});
    return ok();
  }

  /// Both names are from now on the value of `newer`.
  void replace(const std::string& older, const std::string& newer) {
    const auto from = numbers_.find(newer);
    const auto to = numbers_.find(older);
    if (from == numbers_.end() || to == numbers_.end()) return;
    values_[to->second] = values_[from->second];
    from->second = to->second;
  }

  /// The value that the text at `at` names.
  [[nodiscard]] Result<ValueId> find(const JsonAt& at, EdgeValueKind kind) const {
    TENON_TRY(const std::string name, at.text());
    const auto found = numbers_.find(name);
    if (found == numbers_.end()) {
      return at.wrong("is ", host::quoted(name),
                      ", which is neither an input nor made by an earlier node");
    }
    const Named& value = values_[found->second];
    if (value.kind != kind) {
      return at.wrong("is ", host::quoted(name), ", which is another kind of value");
    }
    return value.id;
  }
  /// The value of {"name": ...}.
  [[nodiscard]] Result<ValueId> find_tensor(const JsonAt& at) const {
    TENON_TRY(const JsonAt name, at.member("name"));
    return find(name, EdgeValueKind::Tensor);
  }

 private:
  struct Named {
    ValueId id;
    EdgeValueKind kind;
  };
  std::unordered_map<std::string, std::size_t> numbers_;  ///< Places in `values_`.
  std::vector<Named> values_;
};

/// A tensor or None: {"as_tensor": {"name": ...}} or {"as_none": true}.
[[nodiscard]] inline Result<ValueId> read_optional_tensor(const JsonAt& at, const Pt2Names& names) {
  TENON_TRY(const auto member, at.only_member());
  const auto& [kind, value] = member;
  if (kind == "as_none") return no_value;
  if (kind == "as_tensor") return names.find_tensor(value);
  return at.wrong("has ", host::quoted(kind), ", expected 'as_tensor' or 'as_none'");
}

/// Integers, some of which are values: [{"as_int": 1}, {"as_name": "sym_size"}].
[[nodiscard]] inline Result<EdgeArgumentValue> read_symbolic_ints(const JsonAt& at,
                                                                  const Pt2Names& names) {
  TENON_RETURN_IF_ERROR(at.check_array());
  EdgeInts out({});
  bool has_symbol = false;
  for (std::size_t i = 0; i < at.size(); ++i) {
    TENON_TRY(const auto member, at[i].only_member());
    const auto& [kind, value] = member;
    std::int64_t integer = 0;
    ValueId symbol = no_value;
    if (kind == "as_int") {
      TENON_TRY(integer, value.integer());
    } else if (kind == "as_name") {
      TENON_TRY(symbol, names.find(value, EdgeValueKind::SymInt));
      has_symbol = true;
    } else {
      return value.wrong("is ", host::quoted(kind), ", expected 'as_int' or 'as_name'");
    }
    out.integers.push_back(integer);
    out.symbols.push_back(symbol);
  }
  if (!has_symbol) out.symbols.clear();
  return EdgeArgumentValue(std::move(out));
}

/// A symbolic number, or a number in its place: {"as_name": ...}, {"as_int": ...}.
[[nodiscard]] inline Result<EdgeArgumentValue> read_symbolic(const JsonAt& at, EdgeValueKind kind,
                                                             const Pt2Names& names) {
  TENON_TRY(const auto member, at.only_member());
  const auto& [form, value] = member;
  if (form == "as_name") {
    TENON_TRY(const ValueId id, names.find(value, kind));
    return EdgeArgumentValue(EdgeRef{id});
  }
  if (form == "as_int" && kind == EdgeValueKind::SymInt) {
    TENON_TRY(const std::int64_t integer, value.integer());
    return EdgeArgumentValue(integer);
  }
  if (form == "as_float" && kind == EdgeValueKind::SymFloat) {
    TENON_TRY(const double real, read_real(value));
    return EdgeArgumentValue(real);
  }
  if (form == "as_bool" && kind == EdgeValueKind::SymBool) {
    TENON_TRY(const bool boolean, value.boolean());
    return EdgeArgumentValue(boolean);
  }
  return at.wrong("has ", host::quoted(form), ", which is not such a number");
}

[[nodiscard]] inline Result<EdgeArgumentValue> read_enumerator(const JsonAt& at,
                                                               EdgeArgumentKind kind) {
  std::int64_t number = 0;
  if (kind == EdgeArgumentKind::ScalarType) {
    TENON_TRY(const ScalarType type, read_scalar_type(at));
    number = static_cast<std::int64_t>(type);
  } else if (kind == EdgeArgumentKind::Layout) {
    TENON_TRY(number, read_layout(at));
  } else {
    TENON_TRY(number, read_memory_format(at));
  }
  return EdgeArgumentValue(EdgeEnumerator{kind, number});
}

/// An argument of an operator (schema.py: Argument).
///
/// errors: InvalidProgram; NotSupported for kinds that programs do not support: graphs, objects,
///         complex numbers, lists of texts, and lists of lists.
[[nodiscard]] inline Result<EdgeArgumentValue> read_argument(const JsonAt& at,
                                                             const Pt2Names& names) {
  using V = EdgeArgumentValue;
  TENON_TRY(const auto member, at.only_member());
  const auto& [kind, value] = member;
  // Makes the argument from what a reader gives.
  const auto made = [](auto result) -> Result<V> {
    if (!result.ok()) return std::move(result).status();
    return V(*std::move(result));
  };
  if (kind == "as_none") return V(std::monostate());
  if (kind == "as_tensor") {
    TENON_TRY(const ValueId id, names.find_tensor(value));
    return V(EdgeRef{id});
  }
  if (kind == "as_tensors") {
    return made(value.list<ValueId>([&](const JsonAt& one) { return names.find_tensor(one); }));
  }
  if (kind == "as_optional_tensor") {
    TENON_TRY(const ValueId id, read_optional_tensor(value, names));
    return id == no_value ? V(std::monostate()) : V(EdgeRef{id});
  }
  if (kind == "as_optional_tensors") {
    return made(
        value.list<ValueId>([&](const JsonAt& one) { return read_optional_tensor(one, names); }));
  }
  if (kind == "as_int") return made(value.integer());
  if (kind == "as_ints") {
    TENON_TRY(std::vector<std::int64_t> ints,
              value.list<std::int64_t>([](const JsonAt& one) { return one.integer(); }));
    return V(EdgeInts(std::move(ints)));
  }
  if (kind == "as_float") return made(read_real(value));
  if (kind == "as_floats") {
    return made(value.list<double>(read_real));
  }
  if (kind == "as_bool") return made(value.boolean());
  if (kind == "as_bools") {
    return made(value.list<bool>([](const JsonAt& one) { return one.boolean(); }));
  }
  if (kind == "as_string") return made(value.text());
  if (kind == "as_sym_int") return read_symbolic(value, EdgeValueKind::SymInt, names);
  if (kind == "as_sym_float") return read_symbolic(value, EdgeValueKind::SymFloat, names);
  if (kind == "as_sym_bool") return read_symbolic(value, EdgeValueKind::SymBool, names);
  if (kind == "as_sym_ints") return read_symbolic_ints(value, names);
  if (kind == "as_scalar_type") return read_enumerator(value, EdgeArgumentKind::ScalarType);
  if (kind == "as_layout") return read_enumerator(value, EdgeArgumentKind::Layout);
  if (kind == "as_memory_format") return read_enumerator(value, EdgeArgumentKind::MemoryFormat);
  if (kind == "as_device") return made(read_device(value));
  return at.not_supported("is given as ", host::quoted(kind), ", which programs do not support");
}

}}}  // namespace tenon::TENON_RELEASE::aot::detail
