// SPDX-License-Identifier: MIT
//
// Everything that an application needs to load plugins and run programs: the registry of backends,
// programs and their methods. Needs the headers of flatbuffers, and no library but the C++ runtime
// and the system's.
//
// The search for plugins is in <tenon/host/discovery.hpp>, readers of arrays are in
// <tenon/host/arrays.hpp>, what tools ask of a plugin or a program without running it in
// <tenon/host/inspect.hpp>, asynchronous runs in <tenon/host/async.hpp>.
#pragma once

#include "tenon/host/method/choose_variant.hpp"
#include "tenon/host/method/embedded_code.hpp"
#include "tenon/host/method/kernel_backends.hpp"
#include "tenon/host/method/kernels.hpp"
#include "tenon/host/method/memory.hpp"
#include "tenon/host/method/method.hpp"
#include "tenon/host/method/trace.hpp"
#include "tenon/host/plugin/devices.hpp"
#include "tenon/host/plugin/plugin.hpp"
#include "tenon/host/program/data_file.hpp"
#include "tenon/host/program/merged_data_map.hpp"
#include "tenon/host/program/method_meta.hpp"
#include "tenon/host/program/program.hpp"
#include "tenon/host/registry/cpu_features.hpp"
#include "tenon/host/registry/registry.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Defined by <tenon/host/implementation.hpp>, and so by the library tenon-host. A linker that does
/// not find it, or finds two, says with its name what to do.
void include_tenon_host_implementation_hpp_in_exactly_one_source() noexcept;

namespace detail {
[[gnu::used]] inline constexpr auto* needs_implementation =
    &include_tenon_host_implementation_hpp_in_exactly_one_source;
}

}}}  // namespace tenon::TENON_RELEASE::host
