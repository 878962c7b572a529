// SPDX-License-Identifier: MIT
//
// The part of <tenon/host/implementation.hpp> that defines programs and files of data. A program
// may have each of the three parts in a source of its own; they compile at the same time then.
#pragma once

#include "tenon/abi/version.h"

// Before the rest, so that it is the first of what a linker finds twice.
namespace tenon { inline namespace TENON_RELEASE { namespace host {

void include_tenon_host_program_implementation_hpp_in_exactly_one_source() noexcept {}

}}}  // namespace tenon::TENON_RELEASE::host

#include "tenon/host.hpp"

#include "tenon/host/impl/program/data_file.hpp"
#include "tenon/host/impl/program/key_index.hpp"
#include "tenon/host/impl/program/merged_data_map.hpp"
#include "tenon/host/impl/program/method_meta.hpp"
#include "tenon/host/impl/program/program.hpp"
#include "tenon/host/impl/program/program_view.hpp"
