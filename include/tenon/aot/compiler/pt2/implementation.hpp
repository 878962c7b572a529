// SPDX-License-Identifier: MIT
//
// The definitions of what reads the archives of PyTorch, for a program that does not link the
// library tenon-pt2. Exactly one source of the program includes it. Needs, in this source or
// another one, <tenon/aot/compiler/implementation.hpp>; the headers of nlohmann-json; and the
// library libzip.
#pragma once

#include "tenon/abi/version.h"

// Before the rest, so that it is the first of what a linker finds twice.
namespace tenon { inline namespace TENON_RELEASE { namespace aot {

void include_tenon_aot_compiler_pt2_implementation_hpp_in_exactly_one_source() noexcept {}

}}}  // namespace tenon::TENON_RELEASE::aot

#include "tenon/aot/compiler/pt2/reader.hpp"

#include "tenon/aot/compiler/impl/aoti/aoti_package.hpp"
#include "tenon/aot/compiler/impl/pt2/reader.hpp"
