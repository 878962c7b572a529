// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "tenon/conformance/case/tolerance.hpp"
#include "tenon/core/api.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/host/arrays/array.hpp"
#include "tenon/host/method/options.hpp"

/// Cases: a program with inputs and expected outputs. docs/tools/cases.md describes the format of
/// the directory; `read_case` (case_file.hpp) reads it.
namespace tenon::conformance {

/// A `.npy` file. It existed when the case was read; its content was not examined.
struct ArrayFile {
  std::filesystem::path path;

  friend bool operator==(const ArrayFile&, const ArrayFile&) = default;
};

/// An input or an expected output: nothing, a file, a number, a boolean or a text. An input that is
/// nothing is not set; an output that is expected to be nothing is not compared.
using CaseValue = std::variant<std::monostate, ArrayFile, std::int64_t, double, bool, std::string>;

/// One run of the method.
struct CaseRun {
  std::vector<CaseValue> inputs;    ///< As many as the method has.
  std::vector<CaseValue> expected;  ///< As many as the method has outputs, or none.
  bool fresh = false;  ///< Loads the method anew; else its state continues from the previous run.
};

/// A case, with its files resolved. Plain data: no file is open.
struct Case {
  std::string name;               ///< In reports; by default the name of its directory.
  std::string description;        ///< For people; may be empty.
  std::filesystem::path folder;   ///< The directory that it was read from.
  std::filesystem::path program;  ///< The `.pte` file.
  std::vector<std::filesystem::path> data_files;  ///< `.ptd` files, in their order.
  std::string method = "forward";
  std::vector<CaseRun> runs;  ///< At least one, in the order in which they are executed.
  Tolerances tolerances;
  std::vector<host::BackendOption> runtime_specs;  ///< Given to the load of the method.
};

/// `value` as an array of elements of `wanted`: read from its file, as `host::to_scalar_type`
/// converts it, or a number as a scalar (int64, float64 and bool only; an integer may be given for
/// a float64).
///
/// errors: those of `host::read_npy` and `host::to_scalar_type`, with the file's name; InvalidType
/// for a number where another dtype is wanted, and for text and nothing.
[[nodiscard]] TENON_API Result<host::Array> read_array(const CaseValue& value, ScalarType wanted);

}  // namespace tenon::conformance

#if TENON_CONFORMANCE_DEFINITIONS

#include <cstring>
#include <string_view>
#include <utility>

#include "tenon/host/arrays/npy.hpp"
#include "tenon/host/arrays/value_array.hpp"

namespace tenon::conformance {

TENON_API Result<host::Array> read_array(const CaseValue& value, ScalarType wanted) {
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

#endif  // TENON_CONFORMANCE_DEFINITIONS
