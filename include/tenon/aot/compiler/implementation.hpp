// SPDX-License-Identifier: MIT
//
// The definitions of the ahead-of-time compiler, for a program that does not link the library
// tenon-compiler. Exactly one source of the program includes it. Needs, in this source or another
// one, <tenon/host/implementation.hpp>, and for <tenon/aot/compiler/compile_and_load.hpp> and
// golden cases the definitions of <tenon/host/arrays.hpp>, <tenon/host/discovery.hpp> and
// <tenon/host/prove.hpp>; and the library fmt.
//
// What reads the archives of PyTorch is in <tenon/aot/compiler/pt2/implementation.hpp>.
#pragma once

#include "tenon/abi/version.h"

// Before the rest, so that it is the first of what a linker finds twice.
namespace tenon { inline namespace TENON_RELEASE { namespace aot {

void include_tenon_aot_compiler_implementation_hpp_in_exactly_one_source() noexcept {}

}}}  // namespace tenon::TENON_RELEASE::aot

#include "tenon/aot/compiler/link/needs_implementation.hpp"

#include "tenon/aot/compiler/impl/aoti/aoti_model.hpp"
#include "tenon/aot/compiler/impl/aoti/aoti_program.hpp"
#include "tenon/aot/compiler/impl/aoti/strip_library.hpp"
#include "tenon/aot/compiler/impl/compile_and_load.hpp"
#include "tenon/aot/compiler/impl/compile_methods.hpp"
#include "tenon/aot/compiler/impl/emit/emit.hpp"
#include "tenon/aot/compiler/impl/emit/memory_plan.hpp"
#include "tenon/aot/compiler/impl/emit/method_memory.hpp"
#include "tenon/aot/compiler/impl/emit/single_call.hpp"
#include "tenon/aot/compiler/impl/emit/tensor_text.hpp"
#include "tenon/aot/compiler/impl/golden.hpp"
#include "tenon/aot/compiler/impl/lower/check_partition.hpp"
#include "tenon/aot/compiler/impl/lower/delegation_info.hpp"
#include "tenon/aot/compiler/impl/lower/edge_program_text.hpp"
#include "tenon/aot/compiler/impl/lower/lower.hpp"
#include "tenon/aot/compiler/impl/lower/operator_schema.hpp"
#include "tenon/aot/compiler/impl/lower/operator_schemas.hpp"
#include "tenon/aot/compiler/impl/partition/partition_by_backends.hpp"
#include "tenon/aot/compiler/impl/partition/plugin_preprocess.hpp"
#include "tenon/aot/compiler/impl/program_in_memory.hpp"
#include "tenon/aot/compiler/impl/variants/read_program.hpp"
#include "tenon/aot/compiler/impl/variants/variants.hpp"
#include "tenon/aot/compiler/impl/write/file_image.hpp"
#include "tenon/aot/compiler/impl/write/program_check.hpp"
#include "tenon/aot/compiler/impl/write/ptd_writer.hpp"
#include "tenon/aot/compiler/impl/write/pte_writer.hpp"
