// SPDX-License-Identifier: MIT
//
// Facts about plugins and programs for tools: a plugin's record and the lint of its binary, read
// from the file without loading it, its devices, and whether a backend accepts a program's blobs.
#pragma once

#include "tenon/host/binary/binary_lint.hpp"
#include "tenon/host/binary/elf_functions.hpp"
#include "tenon/host/binary/elf_library.hpp"
#include "tenon/host/binary/peek.hpp"
#include "tenon/host/binary/plugin_record.hpp"
#include "tenon/host/files/read_file.hpp"
#include "tenon/host/files/sha256.hpp"
#include "tenon/host/files/write_at.hpp"
#include "tenon/host/method/check_blob.hpp"
#include "tenon/host/method/device_memory.hpp"
#include "tenon/host/method/requirements.hpp"
#include "tenon/host/plugin/devices.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Defined by <tenon/host/inspect/implementation.hpp>, and so by the library tenon-host. A linker
/// that does not find it, or finds two, says with its name what to do.
void include_tenon_host_inspect_implementation_hpp_in_exactly_one_source() noexcept;

namespace detail {
[[gnu::used]] inline constexpr auto* needs_inspect_implementation =
    &include_tenon_host_inspect_implementation_hpp_in_exactly_one_source;
}

}}}  // namespace tenon::TENON_RELEASE::host
