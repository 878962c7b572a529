// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/conformance/tolerance.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loaded_delegate.hpp"
#include "tenon/host/npy.hpp"
#include "tenon/host/value_array.hpp"

/// Cases: a program with inputs and the outputs that are expected of it. docs/cases.md describes
/// the folder format for people; `read_case` (case_file.hpp) reads it.
namespace tenon::conformance {

/// A `.npy` file. It was there when the case was read; nothing else of it has been looked at.
struct ArrayFile {
  std::filesystem::path path;

  friend bool operator==(const ArrayFile&, const ArrayFile&) = default;
};

/// An input or an expected output: nothing, a file, a number, a boolean or a text. An input that is
/// nothing is not set; an output of which nothing is expected is not compared.
using CaseValue = std::variant<std::monostate, ArrayFile, std::int64_t, double, bool, std::string>;

/// One time that the method is executed.
struct CaseRun {
  std::vector<CaseValue> inputs;    ///< As many as the method has.
  std::vector<CaseValue> expected;  ///< As many as the method has outputs, or none.
  bool fresh = false;  ///< On a method that is loaded anew; else state goes on from the run before.
};

/// A case, with its files resolved. Plain data: no file is open.
struct Case {
  std::string name;               ///< What reports call it; the name of its folder unless it says.
  std::string description;        ///< For people; may be empty.
  std::filesystem::path folder;   ///< Where it was read from.
  std::filesystem::path program;  ///< The `.pte` file.
  std::vector<std::filesystem::path> data_files;  ///< `.ptd` files, in their order.
  std::string method = "forward";
  std::vector<CaseRun> runs;  ///< At least one, in the order in which they are executed.
  Tolerances tolerances;
  std::vector<host::BackendOption> runtime_specs;  ///< Given to the load of the method.
};

/// `value` as an array of elements of `wanted`: read from its file, as `host::to_scalar_type` takes
/// it, or a number as a scalar (int64, float64 and bool only; an integer may stand for a float64).
///
/// errors: those of `host::read_npy` and `host::to_scalar_type`, with the file's name; InvalidType
/// for a number where another dtype is wanted, and for text and nothing.
[[nodiscard]] inline Result<host::Array> read_array(const CaseValue& value, ScalarType wanted) {
  const auto scalar = [](ScalarType type, const auto& number) {
    host::ArrayBytes bytes(sizeof number);
    std::memcpy(bytes.data(), &number, sizeof number);
    return host::Array{type, {}, std::move(bytes)};
  };
  if (const auto* file = std::get_if<ArrayFile>(&value)) {
    TENON_TRY(host::NpyArray raw, host::read_npy(file->path.string()));
    auto array = host::to_scalar_type(std::move(raw), wanted);
    if (!array.ok()) return std::move(array).status().with_context(file->path.string());
    return array;
  }
  std::string_view found = "nothing";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    if (wanted == ScalarType::Long) return scalar(wanted, *integer);
    if (wanted == ScalarType::Double) return scalar(wanted, static_cast<double>(*integer));
    found = "an integer";
  } else if (const auto* real = std::get_if<double>(&value)) {
    if (wanted == ScalarType::Double) return scalar(wanted, *real);
    found = "a real number";
  } else if (const auto* boolean = std::get_if<bool>(&value)) {
    if (wanted == ScalarType::Bool) return scalar(wanted, *boolean);
    found = "a boolean";
  } else if (std::holds_alternative<std::string>(value)) {
    found = "a text";
  }
  return error(Error::InvalidType, "expected an array of dtype ", name_of(wanted), ", found ",
               found);
}

}  // namespace tenon::conformance
