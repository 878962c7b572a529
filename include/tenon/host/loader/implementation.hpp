// SPDX-License-Identifier: MIT
//
// The definitions of the loader: plugins, the registry, programs and methods. A part of
// <tenon/host/implementation.hpp>.
#pragma once

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

void include_tenon_host_implementation_hpp_in_exactly_one_source() noexcept {}

}}}  // namespace tenon::TENON_RELEASE::host

#include "tenon/loader.hpp"

#include "tenon/host/loader/impl/files/limits.hpp"
#include "tenon/host/loader/impl/files/quoted.hpp"
#include "tenon/host/loader/impl/files/shortened.hpp"
#include "tenon/host/loader/impl/method/kernels.hpp"
#include "tenon/host/loader/impl/method/method.hpp"
#include "tenon/host/loader/impl/plugin/backend.hpp"
#include "tenon/host/loader/impl/plugin/backend_api.hpp"
#include "tenon/host/loader/impl/plugin/load_lock.hpp"
#include "tenon/host/loader/impl/plugin/peek.hpp"
#include "tenon/host/loader/impl/plugin/plugin.hpp"
#include "tenon/host/loader/impl/plugin/plugin_gate.hpp"
#include "tenon/host/loader/impl/plugin/plugin_record.hpp"
#include "tenon/host/loader/impl/program/device_buffers.hpp"
#include "tenon/host/loader/impl/program/key_index.hpp"
#include "tenon/host/loader/impl/program/program.hpp"
#include "tenon/host/loader/impl/program/program_view.hpp"
#include "tenon/host/loader/impl/registry/registry.hpp"
#include "tenon/host/platform/impl/opened_file.hpp"
