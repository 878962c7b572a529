// SPDX-License-Identifier: MIT
//
// The definitions of ProviderRegistry, which <tenon/host.hpp> and the layers kernels, variants and
// isolation use. A part of <tenon/host/implementation.hpp>, apart from the search for plugins,
// which needs the headers of nlohmann-json.
#pragma once

#include "tenon/host/layers/discovery/impl/backend_entry.hpp"
#include "tenon/host/layers/discovery/impl/backend_info.hpp"
#include "tenon/host/layers/discovery/impl/plugin_source.hpp"
#include "tenon/host/layers/discovery/impl/provider_registry.hpp"
#include "tenon/host/layers/discovery/impl/provider_table.hpp"
