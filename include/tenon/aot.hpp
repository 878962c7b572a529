// SPDX-License-Identifier: MIT
//
// Ahead of time: what an author needs to compile programs for a backend, beside <tenon/tenon.hpp>.
// It depends on the standard library alone. Tools include the headers of <tenon/aot/compiler/>.
#pragma once

#include "tenon/aot/backend_concepts.hpp"
#include "tenon/aot/backend_details.hpp"
#include "tenon/aot/edge_argument.hpp"
#include "tenon/aot/edge_description.hpp"
#include "tenon/aot/edge_program.hpp"
#include "tenon/aot/edge_program_builder.hpp"
#include "tenon/aot/edge_uses.hpp"
#include "tenon/aot/edge_value.hpp"
#include "tenon/aot/named_data.hpp"
#include "tenon/aot/named_data_store.hpp"
#include "tenon/aot/owned_edge_program.hpp"
#include "tenon/aot/partition_by_support.hpp"
#include "tenon/aot/partition_result.hpp"
#include "tenon/aot/preprocess_result.hpp"
#include "tenon/aot/preprocess_table.hpp"
#include "tenon/aot/program_data.hpp"
#include "tenon/aot/sha256.hpp"
#include "tenon/aot/shared_bytes.hpp"
#include "tenon/aot/tag_data.hpp"
#include "tenon/aot/tensor_layout.hpp"
#include "tenon/aot/unique_bytes.hpp"
