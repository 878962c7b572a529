// SPDX-License-Identifier: MIT
// Breaks TN-AOT-6 at level 5: it renames the nodes of the program that it compiles.
#include "good_compiler.h"

static tenon_status preprocess(tenon_backend* backend, const tenon_partition* partitions,
                               uint32_t count, const tenon_preprocess_sink* sink) {
  const tenon_status status = good_preprocess(backend, partitions, count, sink);
  for (uint32_t i = 0; i < count; ++i) {
    const tenon_edge_program* const program = ZOO_AT(tenon_partition, partitions, i)->program;
    for (uint32_t j = 0; j < program->num_nodes; ++j) {
      *(char*)(uintptr_t)ZOO_AT(tenon_edge_node, program->nodes, j)->name = '_';
    }
  }
  return status;
}

#undef ZOO_PREPROCESS
#define ZOO_PREPROCESS preprocess
#include "good_plugin.h"
