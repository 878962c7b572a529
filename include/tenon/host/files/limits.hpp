// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "tenon/core/json_limits.hpp"
#include "tenon/core/status.hpp"

namespace tenon::host {

/// Limits of the cost of one program, however small its file is. The defaults are above every model
/// that is known, so only a damaged or hostile file reaches them; docs/hosts/limits.md compares
/// them with ExecuTorch's. An application lowers them for programs that come from others.
///
/// A refusal names the limit, its value and what was found. Its error is OutOfResources, except for
/// `instructions`, where it is InvalidProgram as in ExecuTorch.
struct HostLimits {
  /// The value of a limit that does not exist.
  static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

  // Checked by Program::open and DataFile::open, for each file.

  /// Bytes of one name: of a method, an operator, its overload, a backend, a key, a tensor.
  std::uint64_t name_bytes = 4096;
  /// Values of one method.
  std::uint64_t values = 1'000'000;
  /// Entries of named data.
  std::uint64_t named_data_entries = 1'000'000;
  /// Bytes of all named data. Bytes that several keys share count for each of them.
  std::uint64_t named_data_bytes = std::uint64_t{1} << 40;

  // Checked by Method::load.

  /// Bytes of all planned buffers of one method, on all devices together.
  std::uint64_t planned_bytes = std::uint64_t{64} << 30;

  // Checked by Method::execute, for each call.

  /// Instructions before the program is taken for an endless loop (ExecuTorch:
  /// ET_MAX_INSTRUCTIONS).
  std::uint64_t instructions = 10'000'000;
  /// Bytes of condition tensors that jumps look at: each jump looks at a whole tensor, so the
  /// number of instructions alone does not bound the time.
  std::uint64_t condition_bytes = std::uint64_t{256} << 20;
  /// Milliseconds, compared before each instruction. It cannot end a delegate or a kernel that does
  /// not return.
  std::uint64_t run_milliseconds = none;

  // For programs that show results, as tenon-run does.

  /// Bytes of all outputs that the program has no memory for.
  std::uint64_t output_bytes = std::uint64_t{64} << 30;
  /// Numbers and texts that are printed of all outputs together.
  std::uint64_t printed_values = 10'000;
  /// Events of a trace; those after them are counted and dropped.
  std::uint64_t trace_events = 1'000'000;

  /// Sets one limit from "NAME=VALUE". NAME is that of a member; VALUE is a decimal number, which
  /// K, M, G or T multiplies by 2^10 to 2^40, or "none". InvalidArgument names what is wrong.
  [[nodiscard]] Status set(std::string_view text);
};

/// Names of all limits, as `HostLimits::set` takes them.
inline constexpr std::array<std::pair<std::string_view, std::uint64_t HostLimits::*>, 11>
    host_limit_names{{
        {"name_bytes", &HostLimits::name_bytes},
        {"values", &HostLimits::values},
        {"named_data_entries", &HostLimits::named_data_entries},
        {"named_data_bytes", &HostLimits::named_data_bytes},
        {"planned_bytes", &HostLimits::planned_bytes},
        {"instructions", &HostLimits::instructions},
        {"condition_bytes", &HostLimits::condition_bytes},
        {"run_milliseconds", &HostLimits::run_milliseconds},
        {"output_bytes", &HostLimits::output_bytes},
        {"printed_values", &HostLimits::printed_values},
        {"trace_events", &HostLimits::trace_events},
    }};

using tenon::JsonLimits;

namespace detail {

/// The sum, or HostLimits::none where 64 bits do not hold it: more than any limit allows.
[[nodiscard]] constexpr std::uint64_t add_saturating(std::uint64_t a, std::uint64_t b) noexcept {
  return b > HostLimits::none - a ? HostLimits::none : a + b;
}

/// "values: found 5, the limit values is 4".
[[nodiscard]] inline Status over_limit(std::string_view what, std::uint64_t found,
                                       std::string_view name, std::uint64_t limit) {
  return error(Error::OutOfResources, what, ": found ", found, ", the limit ", name, " is ", limit);
}

}  // namespace detail

}  // namespace tenon::host
