// SPDX-License-Identifier: MIT
// Breaks TN-EST-1 at level 5: it gives the blob back that it is to look at.
#include "good.h"

#define STATED 16

static tenon_status estimate(tenon_backend* backend, const tenon_init_context* context,
                             tenon_memory_sink sink, void* sink_context) {
  (void)backend;
  context->processed->release(context->processed);
  const tenon_memory_need need = {
      .struct_size = sizeof need,
      .kind = TENON_MEMORY_WORKSPACE,
      .device = {.device_type = TENON_DL_CPU},
      .nbytes = STATED,
  };
  sink(sink_context, &need);
  return TENON_STATUS_OK;
}

static const tenon_estimate_v1 estimating = {
    .struct_size = sizeof(tenon_estimate_v1),
    .estimate = estimate,
};

#define ZOO_EXTENSIONS(id) \
  if (strcmp(id, TENON_EXTENSION_ESTIMATE) == 0) return &estimating
#include "good_plugin.h"
