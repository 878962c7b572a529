// SPDX-License-Identifier: MIT
//
// Arrays of values for a method's inputs and outputs: NumPy's files, copies of a method's values,
// and comparing two arrays.
#pragma once

#include "tenon/host/layers/arrays/array.hpp"
#include "tenon/host/layers/arrays/compare_arrays.hpp"
#include "tenon/host/layers/arrays/element.hpp"
#include "tenon/host/layers/arrays/exported_value.hpp"
#include "tenon/host/layers/arrays/npy.hpp"
#include "tenon/host/layers/arrays/output_memory.hpp"
#include "tenon/host/layers/arrays/value_array.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Defined by <tenon/host/layers/arrays/implementation.hpp>, and so by the library tenon-host. A
/// linker that does not find it, or finds two, says with its name what to do.
void include_tenon_host_arrays_implementation_hpp_in_exactly_one_source() noexcept;

namespace detail {
[[gnu::used]] inline constexpr auto* needs_arrays_implementation =
    &include_tenon_host_arrays_implementation_hpp_in_exactly_one_source;
}

}}}  // namespace tenon::TENON_RELEASE::host
