// SPDX-License-Identifier: MIT
//
// The part of <tenon/host/implementation.hpp> that defines methods. A program may have each of
// the three parts in a source of its own; they compile at the same time then.
#pragma once

#include "tenon/abi/version.h"

// Before the rest, so that it is the first of what a linker finds twice. It calls those of the
// other parts, so that a linker that lacks one says its name.
namespace tenon { inline namespace TENON_RELEASE { namespace host {

void include_tenon_host_program_implementation_hpp_in_exactly_one_source() noexcept;
void include_tenon_host_registry_implementation_hpp_in_exactly_one_source() noexcept;

void include_tenon_host_implementation_hpp_in_exactly_one_source() noexcept {
  include_tenon_host_program_implementation_hpp_in_exactly_one_source();
  include_tenon_host_registry_implementation_hpp_in_exactly_one_source();
}

}}}  // namespace tenon::TENON_RELEASE::host

#include "tenon/host.hpp"

#include "tenon/host/impl/method/check_blob.hpp"
#include "tenon/host/impl/method/embedded_code.hpp"
#include "tenon/host/impl/method/estimate/estimate.hpp"
#include "tenon/host/impl/method/kernel_backends.hpp"
#include "tenon/host/impl/method/kernels.hpp"
#include "tenon/host/impl/method/memory/device_memory.hpp"
#include "tenon/host/impl/method/memory/external_memory.hpp"
#include "tenon/host/impl/method/method.hpp"
#include "tenon/host/impl/method/requirements.hpp"
#include "tenon/host/impl/method/trace.hpp"
#include "tenon/host/impl/method/variants/choose_variant.hpp"
