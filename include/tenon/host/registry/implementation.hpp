// SPDX-License-Identifier: MIT
//
// The part of <tenon/host/implementation.hpp> that defines plugins, the files that they are read
// from, and the registry of backends. A program may have each of the three parts in a source of
// its own; they compile at the same time then.
#pragma once

#include "tenon/abi/version.h"

// Before the rest, so that it is the first of what a linker finds twice.
namespace tenon { inline namespace TENON_RELEASE { namespace host {

void include_tenon_host_registry_implementation_hpp_in_exactly_one_source() noexcept {}

}}}  // namespace tenon::TENON_RELEASE::host

#include "tenon/host.hpp"

#include "tenon/host/impl/binary/peek.hpp"
#include "tenon/host/impl/binary/platform.hpp"
#include "tenon/host/impl/binary/plugin_record.hpp"
#include "tenon/host/impl/files/limits.hpp"
#include "tenon/host/impl/files/new_file.hpp"
#include "tenon/host/impl/files/quoted.hpp"
#include "tenon/host/impl/files/sha256.hpp"
#include "tenon/host/impl/files/shortened.hpp"
#include "tenon/host/impl/platform/trusted_path.hpp"
#include "tenon/host/impl/plugin/backend.hpp"
#include "tenon/host/impl/plugin/backend_api.hpp"
#include "tenon/host/impl/plugin/devices.hpp"
#include "tenon/host/impl/plugin/load_lock.hpp"
#include "tenon/host/impl/plugin/plugin.hpp"
#include "tenon/host/impl/registry/backend_entry.hpp"
#include "tenon/host/impl/registry/backend_info.hpp"
#include "tenon/host/impl/registry/plugin_source.hpp"
#include "tenon/host/impl/registry/provider_table.hpp"
#include "tenon/host/impl/registry/registry.hpp"
