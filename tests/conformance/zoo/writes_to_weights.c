// SPDX-License-Identifier: MIT
// Breaks TN-AOT-6 at level 5: it rounds the weights of its caller in place.
#include "good_compiler.h"

static tenon_status partition(tenon_backend* backend, const tenon_edge_program* program,
                              const tenon_compile_spec* options, uint32_t num_options,
                              const tenon_partition_sink* sink) {
  for (uint32_t i = 0; i < program->num_values; ++i) {
    const tenon_edge_value* const value = ZOO_AT(tenon_edge_value, program->values, i);
    float* const weights = (float*)(uintptr_t)value->data.data;
    for (uint64_t j = 0; j < value->data.size / sizeof(float); ++j) weights[j] += 0.5f;
  }
  return good_partition(backend, program, options, num_options, sink);
}

#undef ZOO_PARTITION
#define ZOO_PARTITION partition
#include "good_plugin.h"
