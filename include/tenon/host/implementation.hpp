// SPDX-License-Identifier: MIT
//
// The definitions of <tenon/host.hpp>, for a program that does not link the library tenon-host.
// Exactly one source of the program includes it, in addition to what it includes anyway. That
// source needs the headers of flatbuffers; no other one does.
//
// The other umbrella headers have theirs in the same way, and need this one: that of
// <tenon/host/arrays.hpp> is <tenon/host/arrays/implementation.hpp>. They may all be in one source.
#pragma once

// Before the rest, so that it is the first of what a linker finds twice.
namespace tenon::host {

void include_tenon_host_implementation_hpp_in_exactly_one_source() noexcept {}

}  // namespace tenon::host

#include "tenon/host.hpp"

#include "tenon/host/impl/binary/peek.hpp"
#include "tenon/host/impl/binary/platform.hpp"
#include "tenon/host/impl/binary/plugin_record.hpp"
#include "tenon/host/impl/files/limits.hpp"
#include "tenon/host/impl/files/new_file.hpp"
#include "tenon/host/impl/files/quoted.hpp"
#include "tenon/host/impl/files/sha256.hpp"
#include "tenon/host/impl/files/shortened.hpp"
#include "tenon/host/impl/method/check_blob.hpp"
#include "tenon/host/impl/method/device_memory.hpp"
#include "tenon/host/impl/method/embedded_code.hpp"
#include "tenon/host/impl/method/estimate/estimate.hpp"
#include "tenon/host/impl/method/kernel_backends.hpp"
#include "tenon/host/impl/method/kernels.hpp"
#include "tenon/host/impl/method/method.hpp"
#include "tenon/host/impl/method/requirements.hpp"
#include "tenon/host/impl/method/trace.hpp"
#include "tenon/host/impl/method/variants/choose_variant.hpp"
#include "tenon/host/impl/platform/trusted_path.hpp"
#include "tenon/host/impl/plugin/backend.hpp"
#include "tenon/host/impl/plugin/backend_api.hpp"
#include "tenon/host/impl/plugin/devices.hpp"
#include "tenon/host/impl/plugin/load_lock.hpp"
#include "tenon/host/impl/plugin/plugin.hpp"
#include "tenon/host/impl/program/data_file.hpp"
#include "tenon/host/impl/program/key_index.hpp"
#include "tenon/host/impl/program/merged_data_map.hpp"
#include "tenon/host/impl/program/method_meta.hpp"
#include "tenon/host/impl/program/program.hpp"
#include "tenon/host/impl/program/program_view.hpp"
#include "tenon/host/impl/registry/backend_entry.hpp"
#include "tenon/host/impl/registry/backend_info.hpp"
#include "tenon/host/impl/registry/plugin_source.hpp"
#include "tenon/host/impl/registry/provider_table.hpp"
#include "tenon/host/impl/registry/registry.hpp"
