// SPDX-License-Identifier: MIT
//
// The loader: opens a program, verifies it, finds the plugins of its delegates, and runs its
// methods. <tenon/host.hpp> is the loader with the layers on it.
#pragma once

#include "tenon/host/loader/layer.hpp"
#include "tenon/host/loader/method/inputs.hpp"
#include "tenon/host/loader/method/kernels.hpp"
#include "tenon/host/loader/method/method.hpp"
#include "tenon/host/loader/method/options.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"
#include "tenon/host/loader/plugin/plugin_gate.hpp"
#include "tenon/host/loader/program/device_buffers.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/loader/program/tensor_layout.hpp"
#include "tenon/host/loader/registry/cpu_features.hpp"
#include "tenon/host/loader/registry/registry.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Defined by <tenon/host/implementation.hpp>, and so by the library tenon-host. A linker that does
/// not find it, or finds two, says with its name what to do.
void include_tenon_host_implementation_hpp_in_exactly_one_source() noexcept;

namespace detail {
[[gnu::used]] inline constexpr auto* needs_implementation =
    &include_tenon_host_implementation_hpp_in_exactly_one_source;
}

}}}  // namespace tenon::TENON_RELEASE::host
