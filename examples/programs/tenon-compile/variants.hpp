// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compile.hpp"
#include "tenon/aot/compiler/partition/partition_by_backends.hpp"
#include "tenon/aot/compiler/variants/variants.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {
class BackendRegistry;
class Program;
}}}  // namespace tenon::TENON_RELEASE::host

namespace tenon::compile {

/// Reads "[NAME=]ID[+ID...][:TARGET]" or "[NAME=]FILE.pte". errors: InvalidArgument.
[[nodiscard]] Result<VariantArgument> read_variant_argument(const std::string& text);

/// The needs that the plugins of `backends` state: the newest payload version that they read, which
/// they also write.
[[nodiscard]] aot::NeedsByBackend needs_of(std::span<const aot::BackendToUse> backends);

/// The program at `path`, to be written again.
[[nodiscard]] Result<aot::ProgramData> read_program_file(const std::string& path);

/// Joins programs, of which the first is the default. `reported` receives a line for each.
[[nodiscard]] Result<aot::ProgramData> join_variants(std::vector<aot::VariantToMerge> variants,
                                                     std::vector<Variant>& reported);

/// The program with one variant of each method: the variant called `name`, or, when `name` is
/// "best", the variant that `registry` would choose here. `reported` receives a line for each.
[[nodiscard]] Result<aot::ProgramData> strip_program(
    const std::shared_ptr<const host::Program>& program, const std::string& name,
    const host::BackendRegistry& registry, std::vector<Variant>& reported);

}  // namespace tenon::compile
