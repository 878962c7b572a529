// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/host/layers/arrays/array.hpp"
#include "tenon/host/layers/arrays/compare_arrays.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

class Program;

/// Golden cases of a program: inputs of its methods, and the outputs that any backend must give.
/// They are named data under this key, which other runtimes do not ask for: lines of text whose
/// fields are separated by tabs, an empty line, and the bytes of all tensors, in the order of their
/// lines and without padding.
///
///     tenon.golden/1
///     seed NUMBER
///     case METHOD
///     input INDEX DTYPE SIZES
///     output INDEX DTYPE SIZES RTOL ATOL
///
/// The cases of a method are one sequence of runs, so that a program with a state can be proven.
/// `seed` made the inputs; it is for people, and may be missing. An `input` or `output` is of the
/// case before it. DTYPE is ExecuTorch's name, SIZES have commas between them. Fields behind these,
/// and lines that begin with another word, are for later versions and skipped.
inline constexpr std::string_view golden_key = "tenon.golden/1";

/// At most this many cases, and tensors of one case.
inline constexpr std::size_t max_golden_cases = 1024;
inline constexpr std::size_t max_golden_tensors = 4096;

/// One tensor of a case.
struct GoldenTensor {
  std::uint32_t index = 0;  ///< Among the inputs, or outputs, of the method.
  ScalarType type = ScalarType::Float;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data;  ///< In C order, at any address.
  Tolerance tolerance{};            ///< Of an output.

  [[nodiscard]] ArrayView view() const noexcept { return {type, shape, data}; }
};

/// One run of a method.
struct GoldenCase {
  std::string_view method;
  std::vector<GoldenTensor> inputs;  ///< Other inputs have the exported value.
  std::vector<GoldenTensor> outputs;
};

/// All golden cases of a program. Refers to the bytes that it was read from.
struct GoldenCases {
  std::optional<std::uint64_t> seed;
  std::vector<GoldenCase> cases;  ///< In the order of their runs.

  [[nodiscard]] std::size_t count(std::string_view method) const noexcept;
};

/// The tolerance of an output without one: `rtol`, and as much of its largest finite value. Another
/// order of additions stays within, a wrong element of usual size does not. By dtype 1e-2 (Half),
/// 3e-2 (BFloat16), 1e-6 (Double) and 1e-3 (Float); others are exact.
[[nodiscard]] Tolerance golden_tolerance(const ArrayView& expected);

/// Reads golden cases, of a file of anyone. In time that grows with the lines.
///
/// errors: InvalidProgram, with the number of the line: what was expected, and found.
[[nodiscard]] Result<GoldenCases> read_golden(std::span<const std::byte> bytes);

/// The golden cases of a program; none when it has no such named data. Whether they fit its methods
/// is found out by their runs.
///
/// errors: as `read_golden`, after the program's name.
[[nodiscard]] Result<GoldenCases> golden_cases_of(const Program& program);

/// The bytes that `read_golden` reads.
///
/// errors: InvalidArgument: above the limits, a method with a control character in its name, or
/// data that is not as long as the shape says.
[[nodiscard]] Result<std::vector<std::byte>> write_golden(const GoldenCases& cases);

}}}  // namespace tenon::TENON_RELEASE::host
