// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "tenon/core/json_limits.hpp"
#include "tenon/core/status.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

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
  /// Milliseconds, compared before each instruction by the layer `TimeLimit`. A delegate or a
  /// kernel that is running is ended only when the method has the layer `Cancellation` and the
  /// backend looks at the flag, or has a call, to be cancelled (abi/extensions/cancel.h).
  std::uint64_t run_milliseconds = none;
  /// Bytes of the tensors that a run copies for `Method::recorded_intermediates`.
  std::uint64_t intermediate_bytes = std::uint64_t{64} << 30;
};

/// A limit that `set_limit` sets by its name.
struct NamedLimit {
  std::string_view name;
  std::uint64_t* value;
};

/// All limits of a host. They refer to `limits`.
[[nodiscard]] constexpr std::array<NamedLimit, 9> named_limits(HostLimits& limits) noexcept {
  return {{{"name_bytes", &limits.name_bytes},
           {"values", &limits.values},
           {"named_data_entries", &limits.named_data_entries},
           {"named_data_bytes", &limits.named_data_bytes},
           {"planned_bytes", &limits.planned_bytes},
           {"instructions", &limits.instructions},
           {"condition_bytes", &limits.condition_bytes},
           {"run_milliseconds", &limits.run_milliseconds},
           {"intermediate_bytes", &limits.intermediate_bytes}}};
}

/// Sets one of `limits` from "NAME=VALUE", as command lines have it. VALUE is a decimal number,
/// which K, M, G or T multiplies by 2^10 to 2^40, or "none". InvalidArgument names what is wrong;
/// nothing changes then.
[[nodiscard]] Status set_limit(std::span<const NamedLimit> limits, std::string_view text);

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

}}}  // namespace tenon::TENON_RELEASE::host
