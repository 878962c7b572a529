// SPDX-License-Identifier: MIT
//
// Facts about plugins and programs for tools: a plugin's record and the lint of its binary, read
// from the file without loading it, its devices, and whether a backend accepts a program's blobs.
#pragma once

#include "tenon/host/layers/devices/device_memory.hpp"
#include "tenon/host/layers/devices/devices.hpp"
#include "tenon/host/layers/inspect/binary_lint.hpp"
#include "tenon/host/layers/inspect/check_blob.hpp"
#include "tenon/host/layers/inspect/elf_functions.hpp"
#include "tenon/host/layers/inspect/elf_library.hpp"
#include "tenon/host/layers/inspect/platforms.hpp"
#include "tenon/host/layers/trust/sha256.hpp"
#include "tenon/host/layers/variants/requirements.hpp"
#include "tenon/host/loader/plugin/peek.hpp"
#include "tenon/host/loader/plugin/plugin_record.hpp"
#include "tenon/host/loader/program/device_buffers.hpp"
#include "tenon/host/platform/read_file.hpp"
#include "tenon/host/platform/write_at.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Defined by <tenon/host/layers/inspect/implementation.hpp>, and so by the library tenon-host. A
/// linker that does not find it, or finds two, says with its name what to do.
void include_tenon_host_inspect_implementation_hpp_in_exactly_one_source() noexcept;

namespace detail {
[[gnu::used]] inline constexpr auto* needs_inspect_implementation =
    &include_tenon_host_inspect_implementation_hpp_in_exactly_one_source;
}

}}}  // namespace tenon::TENON_RELEASE::host
