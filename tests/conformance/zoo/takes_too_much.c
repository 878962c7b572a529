// SPDX-License-Identifier: MIT
// Breaks TN-AOT-5 at level 5: it chooses every node, and then refuses all but additions.
#include "good_compiler.h"

static tenon_status partition(tenon_backend* backend, const tenon_edge_program* program,
                              const tenon_compile_spec* options, uint32_t num_options,
                              const tenon_partition_sink* sink) {
  (void)backend;
  tenon_status status = TENON_STATUS_OK;
  for (uint32_t i = 0; i < program->num_nodes && status == TENON_STATUS_OK; ++i) {
    const char* const tag = ZOO_AT(tenon_edge_node, program->nodes, i)->name;
    status = sink->add_partition(sink->context, tag, options, num_options);
    if (status == TENON_STATUS_OK) status = sink->tag_node(sink->context, i, tag);
  }
  return status;
}

#undef ZOO_PARTITION
#define ZOO_PARTITION partition
#include "good_plugin.h"
