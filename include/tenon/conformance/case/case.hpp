// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "tenon/conformance/case/tolerance.hpp"
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
  std::string name;                 ///< In reports; by default the name of its directory.
  std::string description;          ///< For people; may be empty.
  std::filesystem::path directory;  ///< The directory that it was read from.
  std::filesystem::path program;    ///< The `.pte` file.
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
[[nodiscard]] Result<host::Array> read_array(const CaseValue& value, ScalarType wanted);

}  // namespace tenon::conformance
