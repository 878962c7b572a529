// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// Defined by <tenon/aot/compiler/implementation.hpp>, and so by the library tenon-compiler. A
/// linker that does not find it, or finds two, says with its name what to do.
void include_tenon_aot_compiler_implementation_hpp_in_exactly_one_source() noexcept;

namespace detail {
[[gnu::used]] inline constexpr auto* needs_implementation =
    &include_tenon_aot_compiler_implementation_hpp_in_exactly_one_source;
}  // namespace detail

}}}  // namespace tenon::TENON_RELEASE::aot
