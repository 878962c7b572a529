// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "tenon/aot/compiler/link/needs_implementation.hpp"
#include "tenon/aot/compiler/program_in_memory.hpp"
#include "tenon/aot/edge_program.hpp"
#include "tenon/aot/program_data.hpp"
#include "tenon/aot/shared_bytes.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/prove/golden.hpp"
#include "tenon/host/loader/method/options.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

struct GoldenOptions {
  std::size_t cases = 3;       ///< Of each method.
  std::uint64_t seed = 0;      ///< Equal seeds make equal inputs, on every machine.
  std::optional<double> rtol;  ///< Of all outputs, instead of `host::golden_tolerance`.
};

/// Golden cases of `methods`: random inputs, and what `reference`, a program of the same methods,
/// computes of them with `options`. The reference should be one that is trusted: kernels.
///
/// Floating-point inputs are from -1 to 1, others 0 or 1, so that they are indices of anything. The
/// first case has the largest sizes; in others the symbols of dynamic sizes are one less, then
/// random. Where a size is not a single symbol, all are the largest ones.
///
/// errors: InvalidArgument (too many cases, or a size without a bound); as `Method::load` and
///         `execute` of the reference, after the method's name.
[[nodiscard]] Result<SharedBytes> make_golden(std::span<const EdgeProgram> methods,
                                              const ProgramInMemory& reference,
                                              const host::MethodOptions& options,
                                              const GoldenOptions& golden);

/// Stores golden cases in a program, which then has no other ones.
[[nodiscard]] Status set_golden(ProgramData& program, SharedBytes golden);

}}}  // namespace tenon::TENON_RELEASE::aot
