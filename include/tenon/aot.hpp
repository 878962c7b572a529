// SPDX-License-Identifier: MIT
//
// Ahead of time: the headers with which a backend compiles programs, in addition to
// <tenon/tenon.hpp>. They depend on the standard library alone. Tests that build programs by hand
// add <tenon/aot/edge_program_builder.hpp>, programs that write `.pte` files
// <tenon/aot/program_data.hpp>, and tools the headers of <tenon/aot/compiler/>.
#pragma once

#include "tenon/aot/backend_concepts.hpp"
#include "tenon/aot/backend_details.hpp"
#include "tenon/aot/compile_spec_data.hpp"
#include "tenon/aot/debug_handle_map.hpp"
#include "tenon/aot/dense_layout.hpp"
#include "tenon/aot/edge_argument.hpp"
#include "tenon/aot/edge_call.hpp"
#include "tenon/aot/edge_program.hpp"
#include "tenon/aot/edge_uses.hpp"
#include "tenon/aot/edge_value.hpp"
#include "tenon/aot/named_data.hpp"
#include "tenon/aot/named_data_store.hpp"
#include "tenon/aot/partition_by_support.hpp"
#include "tenon/aot/partition_result.hpp"
#include "tenon/aot/preprocess_extension.hpp"
#include "tenon/aot/preprocess_result.hpp"
#include "tenon/aot/shared_bytes.hpp"
#include "tenon/aot/tag_data.hpp"
#include "tenon/aot/unique_bytes.hpp"
