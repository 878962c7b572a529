// SPDX-License-Identifier: MIT
#include "operators/read_found_call.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

#include "tenon/core/tensor.hpp"

namespace tenon::cpu_aoti {
namespace {

using Json = JsonAt::Json;

/// The most arguments and tensors of one call.
constexpr std::size_t most_values = 4096;

class FoundCallReader {
 public:
  explicit FoundCallReader(std::string op) { plan_.op = std::move(op); }

  Result<CallPlan> read(const JsonAt& node, const JsonAt& facts) && {
    TENON_TRY(const JsonAt names, facts.array("arguments"));
    TENON_TRY(const JsonAt inputs, node.array("inputs"));
    TENON_TRY(const JsonAt defaults, facts.array("defaults"));
    // The call has a part of the arguments, the defaults the others, both in the schema's order.
    std::size_t given = 0;
    std::size_t left_out = 0;
    TENON_RETURN_IF_ERROR(names.each_element([&](const JsonAt& at) -> Status {
      TENON_TRY(const std::string name, at.text());
      if (given < inputs.size() && is_named(inputs[given], name)) {
        return read_argument(inputs[given++], name, false);
      }
      if (left_out < defaults.size() && is_named(defaults[left_out], name)) {
        return read_argument(defaults[left_out++], name, true);
      }
      return node.wrong("expected a value of argument '", name, "'");
    }));
    if (given != inputs.size() || left_out != defaults.size()) {
      return node.wrong(
          "has a value of an argument that is not among 'arguments', or not in their order");
    }
    plan_.num_inputs = num_tensors_;
    TENON_TRY(const JsonAt outputs, node.array("outputs"));
    TENON_RETURN_IF_ERROR(
        outputs.each_element([&](const JsonAt& one) { return read_result(one); }));
    TENON_TRY(const JsonAt tensors, facts.array("tensors"));
    if (tensors.size() != num_tensors_ || plan_.arguments.size() > most_values) {
      return tensors.wrong("expected ", num_tensors_, " tensors, at most ", most_values, ", found ",
                           tensors.size());
    }
    TENON_RETURN_IF_ERROR(
        tensors.each_element([&](const JsonAt& one) { return read_tensor(one); }));
    if (const auto out = facts.find("out")) {
      TENON_TRY(plan_.out_op, out->characters());
      if (!FoundKernel::is_operator_name(plan_.out_op)) {
        return out->wrong_type("the name of an operator");
      }
    }
    return std::move(plan_);
  }

 private:
  static bool is_named(const JsonAt& argument, const std::string& name) {
    const auto found = argument.find("name");
    return found && found->json() == name;
  }

  /// A fixed argument is not passed by the call.
  Status read_argument(const JsonAt& argument, const std::string& name, bool is_fixed) {
    TENON_TRY(const JsonAt arg, argument.member("arg"));
    TENON_TRY(const auto member, arg.only_member());
    const auto& [type, value] = member;
    PlannedValue out;
    if (!read_value(type, value, is_fixed, out) || (is_fixed && !out.tensors.empty())) {
      return arg.not_supported("argument '", name, "' has the type ", type,
                               ", for which kernels of other plugins have no value");
    }
    plan_.arguments.push_back(std::move(out));
    return ok();
  }

  bool read_value(const std::string& type, const JsonAt& at, bool is_fixed, PlannedValue& out) {
    const Json& value = at.json();
    if (type == "as_none") return true;
    if (type == "as_tensor") return take_tensors(TENON_VALUE_TENSOR, 1, out);
    if (type == "as_tensors" && value.is_array()) {
      return take_tensors(TENON_VALUE_TENSOR_LIST, value.size(), out);
    }
    if (type == "as_optional_tensor") {
      return at.find("as_none") || take_tensors(TENON_VALUE_TENSOR, 1, out);
    }
    if (type == "as_optional_tensors" && value.is_array()) {
      out.kind = TENON_VALUE_OPTIONAL_TENSOR_LIST;
      for (std::size_t i = 0; i < at.size(); ++i) {
        const bool is_none = at[i].find("as_none").has_value();
        out.tensors.push_back(is_none ? PlannedValue::none : num_tensors_++);
      }
      return true;
    }
    if (type == "as_int" || type == "as_sym_int") {
      return take_integers(TENON_VALUE_INT, Json::array({value}), is_fixed, out);
    }
    if ((type == "as_ints" || type == "as_sym_ints") && value.is_array()) {
      return take_integers(TENON_VALUE_INT_LIST, value, is_fixed, out);
    }
    return read_fixed(type, value, out);
  }

  /// Values that only the description has.
  static bool read_fixed(const std::string& type, const Json& value, PlannedValue& out) {
    if (type == "as_float" && value.is_number()) {
      out.kind = TENON_VALUE_DOUBLE;
      out.reals = {value.get<double>()};
    } else if (type == "as_bool" && value.is_boolean()) {
      out.kind = TENON_VALUE_BOOL;
      out.flags = {static_cast<std::uint8_t>(value.get<bool>() ? 1 : 0)};
    } else if (type == "as_string" && value.is_string()) {
      out.kind = TENON_VALUE_STRING;
      out.text = value.get<std::string>();
    } else if (type == "as_floats" && value.is_array()) {
      out.kind = TENON_VALUE_DOUBLE_LIST;
      for (const Json& element : value) {
        if (!element.is_number()) return false;
        out.reals.push_back(element.get<double>());
      }
    } else if (type == "as_bools" && value.is_array()) {
      out.kind = TENON_VALUE_BOOL_LIST;
      for (const Json& element : value) {
        if (!element.is_boolean()) return false;
        out.flags.push_back(element.get<bool>() ? 1 : 0);
      }
    } else if (type == "as_scalar_type" && value.is_number_integer()) {
      // torch.export counts from 1, in c10's order (torch/_export/serde/schema.py, ScalarType).
      constexpr std::int64_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15};
      return take_number(numbers, value, out);
    } else if (type == "as_memory_format" && value.is_number_integer()) {
      // Contiguous, channels last, channels last 3d, preserve; c10 has the last one second.
      constexpr std::int64_t numbers[] = {0, 2, 3, 1};
      return take_number(numbers, value, out);
    } else {
      return false;
    }
    return true;
  }

  /// An enumerator that torch.export counts from 1, as c10's number.
  static bool take_number(std::span<const std::int64_t> numbers, const Json& value,
                          PlannedValue& out) {
    const auto number = value.get<std::int64_t>();
    if (number < 1 || static_cast<std::uint64_t>(number) > numbers.size()) return false;
    out.kind = TENON_VALUE_INT;
    out.integers = {numbers[static_cast<std::size_t>(number) - 1]};
    return true;
  }

  bool take_tensors(std::uint32_t kind, std::size_t count, PlannedValue& out) {
    if (count > most_values) return false;
    out.kind = kind;
    out.tensors.resize(count);
    std::iota(out.tensors.begin(), out.tensors.end(), num_tensors_);
    num_tensors_ += count;
    return true;
  }

  /// Numbers that vary have a name in the description, and 0 here until a call.
  bool take_integers(std::uint32_t kind, const Json& values, bool is_fixed, PlannedValue& out) {
    out.kind = kind;
    for (const Json& value : values) {
      const bool is_named = value.is_object();
      const Json& number = is_named ? value.value("as_int", Json()) : value;
      const bool is_known =
          number.is_number_integer() && (!number.is_number_unsigned() ||
                                         std::in_range<std::int64_t>(number.get<std::uint64_t>()));
      if (!is_known && (is_fixed || !is_named)) return false;
      out.integers.push_back(is_known ? number.get<std::int64_t>() : 0);
    }
    if (is_fixed) return true;
    out.first_integer = plan_.num_integers;
    plan_.num_integers += out.integers.size();
    return true;
  }

  Status read_result(const JsonAt& output) {
    PlannedValue out;
    TENON_TRY(const auto member, output.only_member());
    const auto& [type, value] = member;
    const bool is_tensor = type == "as_tensor" || type == "as_tensors";
    if (!is_tensor || !read_value(type, value, false, out)) {
      return output.not_supported(
          "an output has the type ", type,
          ": kernels of other plugins write to tensors and lists of tensors");
    }
    plan_.results.push_back(std::move(out));
    return ok();
  }

  Status read_tensor(const JsonAt& at) {
    PlannedTensor out;
    TENON_TRY(const JsonAt type_at, at.member("dtype"));
    TENON_TRY(const std::int64_t type, type_at.integer());
    const ScalarTypeInfo* const info = find_scalar_type(type);
    if (!info) return type_at.wrong_type("the number of a dtype");
    out.type = info->type;
    TENON_TRY(const JsonAt sizes, at.array("sizes"));
    TENON_TRY(const JsonAt order, at.member("dim_order"));
    if (order.json().is_null()) {
      return order.not_supported(
          "a result with gaps in memory, which kernels of other plugins cannot make");
    }
    TENON_RETURN_IF_ERROR(order.check_array());
    const std::size_t rank = sizes.size();
    if (rank > max_rank || order.size() != rank) {
      return at.wrong("expected at most ", max_rank,
                      " dimensions, and as many in 'dim_order', found ", rank, " and ",
                      order.size());
    }
    std::int64_t nbytes = info->size;
    for (const Json& size : sizes.json()) {
      if (size.is_null()) {
        return sizes.not_supported(
            "a size without a limit: kernels of other plugins need one "
            "(torch.export.Dim with max, or torch._check)");
      }
      const std::int64_t bound = size.is_number_integer() ? size.get<std::int64_t>() : -1;
      if (bound < 0 || __builtin_mul_overflow(nbytes, std::max<std::int64_t>(bound, 1), &nbytes)) {
        return sizes.wrong("expected sizes of at least 0 whose product is no overflow");
      }
      out.bounds.push_back(bound);
    }
    std::array<bool, max_rank> seen{};
    for (const Json& dim : order.json()) {
      const std::uint64_t index = dim.is_number_unsigned() ? dim.get<std::uint64_t>() : rank;
      if (index >= rank || std::exchange(seen[index], true)) {
        return order.wrong("expected each dimension once");
      }
      out.dim_order.push_back(static_cast<std::uint8_t>(index));
    }
    TENON_TRY(const JsonAt dynamic, at.array("dynamic"));
    const auto is_flag = [](const Json& value) { return value.is_boolean(); };
    if (dynamic.size() != rank || !std::ranges::all_of(dynamic.json(), is_flag)) {
      return dynamic.wrong("expected true or false for each of ", rank, " dimensions, found ",
                           dynamic.size());
    }
    for (const Json& one : dynamic.json()) out.dynamic.push_back(one.get<bool>() ? 1 : 0);
    const auto written = at.find("written");
    out.is_written = written && written->json() == true;
    plan_.tensors.push_back(std::move(out));
    return ok();
  }

  CallPlan plan_;
  std::size_t num_tensors_ = 0;
};

}  // namespace

Result<std::optional<CallPlan>> read_found_call(const JsonAt& node, const std::string& op) {
  const auto metadata = node.find("metadata");
  const auto text_at = metadata ? metadata->find("tenon") : std::nullopt;
  if (!text_at) return std::optional<CallPlan>();
  TENON_TRY(const std::string_view text, text_at->characters());
  const std::string name = text_at->place();
  TENON_TRY(const Json json,
            parse_json_object(text, name, Error::InvalidProgram, description_limits));
  const JsonAt facts(json, name, Error::InvalidProgram);
  TENON_TRY(CallPlan plan, FoundCallReader(op).read(node, facts));
  return std::optional(std::move(plan));
}

}  // namespace tenon::cpu_aoti
