// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/aot/compiler/link/needs_implementation.hpp"
#include "tenon/aot/program_data.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/program/program.hpp"

/// Programs whose methods have several variants (docs/hosts/variants.md).
namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// The needs of a backend's delegates in a variant, by which hosts choose without its plugin.
struct VariantNeeds {
  std::string target = {};            ///< What they were compiled for; for people.
  std::uint32_t payload_version = 0;  ///< Of their blobs; 0 when it is not known.
  std::vector<std::string> cpu_features = {};

  friend bool operator==(const VariantNeeds&, const VariantNeeds&) = default;
};

/// By backend.
using NeedsByBackend = std::map<std::string, VariantNeeds, std::less<>>;

/// PteOptions::segment_alignment for programs with variants: pages of one hold nothing of another,
/// so that what is read of it reads nothing of the others.
inline constexpr std::uint64_t variants_alignment = 4096;

/// A program that becomes a variant.
struct VariantToMerge {
  ProgramData program;
  std::string name;           ///< Empty: `default_variant_name`.
  std::int32_t priority = 0;  ///< Of variants that run equally well hosts take the highest.
  NeedsByBackend needs = {};  ///< In addition to `find_needs`, before which it comes.
};

/// The ids of the program's backends with "+" between them, "kernels" without one.
[[nodiscard]] std::string default_variant_name(const ProgramData& program);

/// The needs that a program states itself: the CPU features of code that AOTInductor compiled, and
/// the compile specs `device` and `target_device`. Has an entry for each backend.
[[nodiscard]] NeedsByBackend find_needs(const ProgramData& program);

/// Joins programs for one model into a program whose methods have a variant of each. The first
/// keeps the names of its methods, so that other runtimes run it; plans of the others have the
/// method's name, an at sign and the variant's, and come behind its own. It may have variants
/// already, which it keeps.
///
/// A variant may lack methods of the first, and has no others. Constants, initial states, blobs and
/// named data that are equal are written once.
///
/// errors: InvalidArgument: no program; a method that the first does not have, or with other
///         inputs or outputs; a name of a variant that is used twice, or that cannot be written; a
///         later program that has variants itself; a key of named data with two contents. The text
///         names the variant.
[[nodiscard]] Result<ProgramData> merge_variants(std::vector<VariantToMerge> variants);

/// The program with a single variant of each method, which has the method's name, and without the
/// named data that only the others used. `keep` has names of variants by method; a method that it
/// does not name keeps its default.
///
/// errors: InvalidArgument for a method or a variant that there is not; otherwise as
/// `read_program`.
[[nodiscard]] Result<ProgramData> strip_variants(
    std::shared_ptr<const host::Program> program,
    const std::map<std::string, std::string, std::less<>>& keep);

}}}  // namespace tenon::TENON_RELEASE::aot
