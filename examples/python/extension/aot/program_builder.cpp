// SPDX-License-Identifier: MIT
#include "program_builder.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "module.hpp"
#include "tenon/core/concat.hpp"

namespace nb = nanobind;

namespace tenon::python {

using namespace aot;
using aot::detail::SymExpression;
using aot::detail::SymRange;

namespace {

template <class T>
std::vector<T> list_of(nb::handle values) {
  std::vector<T> out;
  for (const nb::handle value : values) out.push_back(nb::cast<T>(value));
  return out;
}

/// None is `no_value`.
std::vector<ValueId> ids_of(nb::handle values) {
  std::vector<ValueId> out;
  for (const nb::handle value : values) {
    out.push_back(value.is_none() ? aot::no_value : nb::cast<ValueId>(value));
  }
  return out;
}

/// Integers, some of which are values: (0, id) in the place of an integer.
EdgeArgumentValue ints_of(nb::handle values) {
  aot::EdgeInts out({});
  bool has_symbol = false;
  for (const nb::handle value : values) {
    const bool is_symbol = nb::isinstance<nb::tuple>(value);
    has_symbol = has_symbol || is_symbol;
    out.integers.push_back(is_symbol ? 0 : nb::cast<std::int64_t>(value));
    out.symbols.push_back(is_symbol ? nb::cast<ValueId>(value[1]) : aot::no_value);
  }
  if (!has_symbol) out.symbols.clear();
  return out;
}

EdgeArgumentValue argument_of(EdgeArgumentKind kind, nb::handle value) {
  switch (kind) {
    case EdgeArgumentKind::None:
      return std::monostate();
    case EdgeArgumentKind::Value:
      return aot::EdgeRef{nb::cast<ValueId>(value)};
    case EdgeArgumentKind::Values:
      return ids_of(value);
    case EdgeArgumentKind::Bool:
      return nb::cast<bool>(value);
    case EdgeArgumentKind::Int:
      return nb::cast<std::int64_t>(value);
    case EdgeArgumentKind::Double:
      return nb::cast<double>(value);
    case EdgeArgumentKind::String:
      return nb::cast<std::string>(value);
    case EdgeArgumentKind::Bools:
      return list_of<bool>(value);
    case EdgeArgumentKind::Ints:
      return ints_of(value);
    case EdgeArgumentKind::Doubles:
      return list_of<double>(value);
    case EdgeArgumentKind::ScalarType:
    case EdgeArgumentKind::Layout:
    case EdgeArgumentKind::MemoryFormat:
      return aot::EdgeEnumerator{kind, nb::cast<std::int64_t>(value)};
    case EdgeArgumentKind::Device:
      return tenon_dl_device{nb::cast<std::int32_t>(value[0]), nb::cast<std::int32_t>(value[1])};
  }
  raise(error(Error::InvalidArgument, "argument of kind ", static_cast<std::uint32_t>(kind),
              ", which is not known"));
}

std::int64_t bound(nb::handle value, std::int64_t infinite) {
  return value.is_none() ? infinite : nb::cast<std::int64_t>(value);
}

}  // namespace

ProgramBuilder::ProgramBuilder(const std::string& method_name, const nb::dict& ranges)
    : builder_(method_name) {
  note(method_name, ranges);
  for (const auto& [symbol, range] : ranges) {
    const nb::handle pair = range;
    ranges_.insert_or_assign(
        nb::cast<std::string>(symbol),
        SymRange{bound(pair[0], SymRange::lowest), bound(pair[1], SymRange::highest)});
  }
}

EdgeTensor::Size ProgramBuilder::size_of(nb::handle size, std::string_view name) const {
  if (nb::isinstance<nb::int_>(size)) return nb::cast<std::int64_t>(size);
  const auto text = nb::cast<std::string>(size);
  auto parsed = SymExpression::parse(text);
  if (!parsed.ok()) {
    raise(std::move(parsed).status().with_context(concat("a size of '", name, "'")));
  }
  const SymRange range = parsed->range(ranges_);
  if (range.min > range.max) {
    raise(error(Error::InvalidProgram, "a size of '", name, "', ", parsed->text(),
                ", can have no value: its ranges exclude each other"));
  }
  return {range.min, range.max, parsed->text()};
}

EdgeTensor::Size ProgramBuilder::range_of(EdgeValueKind kind, nb::handle number,
                                          std::string_view name) const {
  if (kind == EdgeValueKind::SymInt) return size_of(number, name);
  const bool is_bool = kind == EdgeValueKind::SymBool;
  const SymRange all = is_bool ? SymRange{0, 1} : SymRange{};
  if (nb::isinstance<nb::bool_>(number)) return nb::cast<bool>(number) ? 1 : 0;
  if (nb::isinstance<nb::float_>(number)) {
    return {all.min, all.max, concat(nb::cast<double>(number))};
  }
  const auto parsed = take(SymExpression::parse(nb::cast<std::string>(number)));
  return {all.min, all.max, parsed.text()};
}

EdgeTensor ProgramBuilder::tensor_of(const nb::tuple& tensor, std::string_view name) const {
  EdgeTensor out;
  out.scalar_type = static_cast<ScalarType>(nb::cast<std::int8_t>(tensor[0]));
  const nb::handle sizes = tensor[1];
  for (const nb::handle size : sizes) {
    EdgeTensor::Size one = size_of(size, name);
    one.min = std::max<std::int64_t>(one.min, 0);
    out.sizes.push_back(std::move(one));
  }
  out.dim_order = list_of<std::uint8_t>(tensor[2]);
  return out;
}

ValueId ProgramBuilder::user_input(const std::string& name, const nb::tuple& tensor) {
  note("user_input", name, tensor);
  return builder_.user_input(name, tensor_of(tensor, name));
}

ValueId ProgramBuilder::user_input_symbol(const std::string& name, std::uint32_t kind,
                                          const nb::object& number) {
  note("user_input_symbol", name, kind, number);
  const auto as = static_cast<EdgeValueKind>(kind);
  return builder_.user_input_symbol(name, range_of(as, number, name), as);
}

ValueId ProgramBuilder::stored(std::uint32_t origin, const std::string& name,
                               const std::string& fqn, const nb::tuple& tensor,
                               std::uintptr_t address, std::size_t nbytes, const nb::object& keep) {
  note("stored", origin, name, fqn, tensor, nbytes);
  kept_.append(keep);
  const Bytes bytes(reinterpret_cast<const std::byte*>(address), nbytes);
  weights_.push_back(bytes);
  return builder_.stored(static_cast<EdgeOrigin>(origin), name, fqn, tensor_of(tensor, name),
                         aot::SharedBytes::borrow(bytes, nullptr));
}

ValueId ProgramBuilder::node_output(const std::string& name, const nb::tuple& tensor) {
  note("node_output", name, tensor);
  return builder_.node_output(name, tensor_of(tensor, name));
}

ValueId ProgramBuilder::node_output_symbol(const std::string& name, std::uint32_t kind,
                                           const nb::object& number) {
  note("node_output_symbol", name, kind, number);
  const auto as = static_cast<EdgeValueKind>(kind);
  return builder_.node_output_symbol(name, as, range_of(as, number, name));
}

void ProgramBuilder::add_node(const std::string& name, const std::string& target,
                              const nb::list& arguments, const nb::list& outputs,
                              const std::string& module_path, std::uint32_t debug_handle) {
  note("node", name, target, arguments, outputs, module_path, debug_handle);
  std::vector<aot::EdgeProgramBuilder::Argument> list;
  for (const nb::handle argument : arguments) {
    const auto kind = static_cast<EdgeArgumentKind>(nb::cast<std::uint32_t>(argument[1]));
    list.emplace_back(nb::cast<std::string>(argument[0]), argument_of(kind, argument[2]));
  }
  builder_.add_node(name, target, list, ids_of(outputs), module_path, debug_handle);
}

void ProgramBuilder::user_output(ValueId value) {
  note("user_output", value);
  builder_.user_output(value);
}

void ProgramBuilder::mutation(ValueId target, ValueId value) {
  note("mutation", target, value);
  builder_.mutation(target, value);
}

Program ProgramBuilder::build() {
  return {take(std::move(builder_).build()), std::move(kept_), calls_.finish(),
          std::move(weights_)};
}

}  // namespace tenon::python
