// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/host/layers/arrays/array.hpp"
#include "tenon/host/loader/method/options.hpp"

/// Cases: a program with inputs and expected outputs, and how far an output may be from the
/// expected one. docs/tools/cases.md describes the format of the directory.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// How far an output may be from the expected one. All limits that are set must hold; with none set
/// elements must be equal. Whatever the limits, NaN only matches NaN, and an infinity only itself.
struct CaseTolerance {
  std::optional<double> nmse;  ///< Normalised mean square error, see host::Comparison.
  std::optional<double> peak;  ///< Largest difference over the largest |expected|.
  std::optional<double> max;   ///< Largest difference.
  /// Each element: |found - expected| <= atol + rtol * |expected|. If only one is set, the other is
  /// 0.
  std::optional<double> rtol, atol;

  friend bool operator==(const CaseTolerance&, const CaseTolerance&) = default;
};

/// The default limits of a dtype. `nmse` is a ratio and does not depend on the size of outputs:
/// 1e-7 for float32, as in ggml's test-backend-ops, is a relative error of 3e-4, some thousand
/// times the unit roundoff and far below the error of a wrong kernel. It becomes small when one
/// element of many is wrong; `peak` does not. The types with fewer digits allow a few dozen
/// roundings (unit roundoff 5e-4 for float16, 4e-3 for bfloat16, 6e-2 and 1e-1 for float8); float64
/// allows a relative error of 1e-8, as algorithms differ there by more than roundings.
///
///   dtype                     nmse     relative   peak
///   float64, complex128       1e-16    1e-8       1e-7
///   float32, complex64        1e-7     3e-4       1e-3
///   float16, complex32        1e-4     1e-2       3e-2
///   bfloat16                  1e-3     3e-2       1e-1
///   float8_e4m3*              1e-2     1e-1       2.5e-1
///   float8_e5m2*              4e-2     2e-1       5e-1
///   all others                equal
[[nodiscard]] CaseTolerance default_tolerance(ScalarType type) noexcept;

/// Limits by dtype, from a case or a subject file.
class Tolerances {
 public:
  void set(ScalarType type, const CaseTolerance& tolerance);

  /// The limits of `type`, or the default ones.
  [[nodiscard]] CaseTolerance of(ScalarType type) const;

  /// These limits, replaced by the limits of `closer` for each dtype that it has. Limits of one
  /// dtype are replaced together and never mixed.
  [[nodiscard]] Tolerances overridden_by(const Tolerances& closer) const;

 private:
  std::map<ScalarType, CaseTolerance> of_type_;
};

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
/// errors: as `host::read_npy` and `host::to_scalar_type`, with the file's name; InvalidType for a
/// number where another dtype is wanted, and for text and nothing.
[[nodiscard]] Result<host::Array> read_array(const CaseValue& value, ScalarType wanted);

/// Reads the case in `directory`: case.json, or the defaults without one. Checks that the files
/// that it names exist, but not their content.
///
/// threads: any. errors: AccessFailed when the directory or case.json cannot be read,
/// InvalidArgument for all else. Texts name the file, the member, what was expected and what was
/// found.
[[nodiscard]] Result<Case> read_case(const std::filesystem::path& directory);

/// Reads the case in `directory`, with `text` as the content of case.json. `name` begins the text
/// of a failure.
[[nodiscard]] Result<Case> parse_case(std::string_view text, std::string_view name,
                                      const std::filesystem::path& directory);

/// Reads all cases at `place`: the directory of a case, a directory of such directories, or a
/// pattern of glob(7) for either ("cases/float_*"). Sorted by path. Skips directories without a
/// case.
///
/// threads: any. errors: as `read_case`; NotFound when there is no case at all.
[[nodiscard]] Result<std::vector<Case>> read_cases(const std::filesystem::path& place);

}}}  // namespace tenon::TENON_RELEASE::conformance
