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

#include "tenon/core/concat.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cpu_aoti {
namespace {

using json::fail;
using json::Json;

/// The most arguments and tensors of one call.
constexpr std::size_t most_values = 4096;

class FoundCallReader {
 public:
  FoundCallReader(std::string op, std::string where) : where_(std::move(where)) {
    plan_.op = std::move(op);
  }

  Result<CallPlan> read(const Json& node, const Json& facts) && {
    TENON_TRY(const Json* names, json::list(facts, "arguments", where_));
    TENON_TRY(const Json* inputs, json::list(node, "inputs", where_));
    TENON_TRY(const Json* defaults, json::list(facts, "defaults", where_));
    // The call has a part of the arguments, the defaults the others, both in the schema's order.
    auto given = inputs->begin();
    auto left_out = defaults->begin();
    for (const Json& name : *names) {
      if (!name.is_string()) return bad("expected texts in 'arguments'");
      if (given != inputs->end() && is_named(*given, name)) {
        TENON_RETURN_IF_ERROR(read_argument(*given++, name.get<std::string>(), false));
      } else if (left_out != defaults->end() && is_named(*left_out, name)) {
        TENON_RETURN_IF_ERROR(read_argument(*left_out++, name.get<std::string>(), true));
      } else {
        return bad(concat("expected a value of argument '", name.get<std::string>(), "'"));
      }
    }
    if (given != inputs->end() || left_out != defaults->end()) {
      return bad("has a value of an argument that is not among 'arguments', or not in their order");
    }
    plan_.num_inputs = num_tensors_;
    TENON_TRY(const Json* outputs, json::list(node, "outputs", where_));
    for (const Json& output : *outputs) TENON_RETURN_IF_ERROR(read_result(output));
    TENON_TRY(const Json* tensors, json::list(facts, "tensors", where_));
    if (tensors->size() != num_tensors_ || plan_.arguments.size() > most_values) {
      return bad(concat("expected ", num_tensors_, " tensors, at most ", most_values, ", found ",
                        tensors->size()));
    }
    for (const Json& tensor : *tensors) TENON_RETURN_IF_ERROR(read_tensor(tensor));
    if (json::find(facts, "out")) {
      TENON_TRY(plan_.out_op, json::text(facts, "out", where_));
      if (!FoundKernel::is_operator_name(plan_.out_op)) {
        return bad("expected the name of an operator in 'out'");
      }
    }
    return std::move(plan_);
  }

 private:
  [[nodiscard]] Status bad(std::string_view text) const {
    return fail(Error::InvalidProgram, where_, text);
  }

  static bool is_named(const Json& argument, const Json& name) {
    const Json* found = json::find(argument, "name");
    return found && *found == name;
  }

  /// A fixed argument is not passed by the call.
  Status read_argument(const Json& argument, const std::string& name, bool is_fixed) {
    const Json* const value = json::find(argument, "arg");
    if (!value || !value->is_object() || value->size() != 1) {
      return bad(concat("expected one value for argument '", name, "'"));
    }
    PlannedValue out;
    const std::string& type = value->begin().key();
    if (!read_value(type, value->begin().value(), is_fixed, out) ||
        (is_fixed && !out.tensors.empty())) {
      return fail(Error::NotSupported, where_, "argument '", name, "' has the type ", type,
                  ", for which kernels of other plugins have no value");
    }
    plan_.arguments.push_back(std::move(out));
    return ok();
  }

  bool read_value(const std::string& type, const Json& value, bool is_fixed, PlannedValue& out) {
    if (type == "as_none") return true;
    if (type == "as_tensor") return take_tensors(TENON_VALUE_TENSOR, 1, out);
    if (type == "as_tensors" && value.is_array()) {
      return take_tensors(TENON_VALUE_TENSOR_LIST, value.size(), out);
    }
    if (type == "as_optional_tensor") {
      return json::find(value, "as_none") || take_tensors(TENON_VALUE_TENSOR, 1, out);
    }
    if (type == "as_optional_tensors" && value.is_array()) {
      out.kind = TENON_VALUE_OPTIONAL_TENSOR_LIST;
      for (const Json& element : value) {
        const bool is_none = json::find(element, "as_none") != nullptr;
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
      const Json* const number = value.is_object() ? json::find(value, "as_int") : &value;
      const bool is_known = number && number->is_number_integer();
      if (!is_known && (is_fixed || !value.is_object())) return false;
      out.integers.push_back(is_known ? number->get<std::int64_t>() : 0);
    }
    if (is_fixed) return true;
    out.first_integer = plan_.num_integers;
    plan_.num_integers += out.integers.size();
    return true;
  }

  Status read_result(const Json& output) {
    PlannedValue out;
    if (!output.is_object() || output.size() != 1) return bad("expected one value for each output");
    const std::string& type = output.begin().key();
    const bool is_tensor = type == "as_tensor" || type == "as_tensors";
    if (!is_tensor || !read_value(type, output.begin().value(), false, out)) {
      return fail(Error::NotSupported, where_, "an output has the type ", type,
                  ": kernels of other plugins write to tensors and lists of tensors");
    }
    plan_.results.push_back(std::move(out));
    return ok();
  }

  Status read_tensor(const Json& tensor) {
    PlannedTensor out;
    const std::string number = concat("tensor ", plan_.tensors.size());
    const Json* const type = json::find(tensor, "dtype");
    const bool has_type = type && type->is_number_integer();
    const ScalarTypeInfo* const info =
        has_type ? find_scalar_type(type->get<std::int64_t>()) : nullptr;
    if (!info) return bad(concat(number, ": expected the number of a dtype in 'dtype'"));
    out.type = info->type;
    TENON_TRY(const Json* sizes, json::list(tensor, "sizes", where_));
    const Json* const gaps = json::find(tensor, "dim_order");
    if (gaps && gaps->is_null()) {
      return fail(Error::NotSupported, where_, number,
                  ": a result with gaps in memory, which kernels of other plugins cannot make");
    }
    TENON_TRY(const Json* order, json::list(tensor, "dim_order", where_));
    const std::size_t rank = sizes->size();
    if (rank > max_rank || order->size() != rank) {
      return bad(concat(number, ": expected at most ", max_rank,
                        " dimensions, and as many in 'dim_order', found ", rank, " and ",
                        order->size()));
    }
    std::int64_t nbytes = info->size;
    for (const Json& size : *sizes) {
      if (size.is_null()) {
        return fail(Error::NotSupported, where_, number,
                    ": a size without a limit: kernels of other plugins need one "
                    "(torch.export.Dim with max, or torch._check)");
      }
      const std::int64_t bound = size.is_number_integer() ? size.get<std::int64_t>() : -1;
      if (bound < 0 || __builtin_mul_overflow(nbytes, std::max<std::int64_t>(bound, 1), &nbytes)) {
        return bad(concat(number, ": expected sizes of at least 0 whose product is no overflow"));
      }
      out.bounds.push_back(bound);
    }
    std::array<bool, max_rank> seen{};
    for (const Json& dim : *order) {
      const std::uint64_t at = dim.is_number_unsigned() ? dim.get<std::uint64_t>() : rank;
      if (at >= rank || std::exchange(seen[at], true)) {
        return bad(concat(number, ": expected each dimension once in 'dim_order'"));
      }
      out.dim_order.push_back(static_cast<std::uint8_t>(at));
    }
    TENON_TRY(const Json* dynamic, json::list(tensor, "dynamic", where_));
    const auto is_flag = [](const Json& value) { return value.is_boolean(); };
    if (dynamic->size() != rank || !std::ranges::all_of(*dynamic, is_flag)) {
      return bad(concat(number, ": expected true or false for each of ", rank,
                        " dimensions in 'dynamic', found ", dynamic->size()));
    }
    for (const Json& one : *dynamic) out.dynamic.push_back(one.get<bool>() ? 1 : 0);
    const Json* const written = json::find(tensor, "written");
    out.is_written = written && *written == true;
    plan_.tensors.push_back(std::move(out));
    return ok();
  }

  std::string where_;
  CallPlan plan_;
  std::size_t num_tensors_ = 0;
};

}  // namespace

Result<std::optional<CallPlan>> read_found_call(const Json& node, const std::string& op,
                                                const std::string& where) {
  const Json* const metadata = json::find(node, "metadata");
  const Json* const text = metadata ? json::find(*metadata, "tenon") : nullptr;
  if (!text) return std::optional<CallPlan>();
  const std::string facts_text = text->is_string() ? text->get<std::string>() : std::string();
  TENON_TRY(const Json facts, json::parse(facts_text, concat(where, ", metadata 'tenon'")));
  if (!facts.is_object()) {
    return fail(Error::InvalidProgram, where, "expected a JSON object in the metadata 'tenon'");
  }
  TENON_TRY(CallPlan plan, FoundCallReader(op, where).read(node, facts));
  return std::optional(std::move(plan));
}

}  // namespace tenon::cpu_aoti
