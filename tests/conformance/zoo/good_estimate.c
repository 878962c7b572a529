// SPDX-License-Identifier: MIT
// Breaks nothing: it states how much memory its delegates take.
#include "good.h"

#define STATED 1048576

static tenon_status estimate(tenon_backend* backend, const tenon_init_context* context,
                             tenon_memory_sink sink, void* sink_context) {
  (void)backend;
  (void)context;
  const tenon_memory_need need = {
      .struct_size = sizeof need,
      .kind = TENON_MEMORY_WORKSPACE,
      .device = {.device_type = TENON_DL_CPU},
      .nbytes = STATED,
  };
  sink(sink_context, &need);
  return TENON_STATUS_OK;
}

/// Takes what it states from the host, which frees it.
static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  if (!ZOO_ALLOCATE(context->runtime_allocator, STATED, 64)) {
    return good_fail(backend->host, TENON_STATUS_MEMORY_ALLOCATION_FAILED,
                     "init: expected %d bytes of the runtime allocator, found none", STATED);
  }
  return good_init(backend, context, out);
}

static const tenon_estimate_v1 estimating = {
    .struct_size = sizeof(tenon_estimate_v1),
    .estimate = estimate,
};

#define ZOO_EXTENSIONS(id) \
  if (strcmp(id, TENON_EXTENSION_ESTIMATE) == 0) return &estimating
#define ZOO_INIT init
#include "good_plugin.h"
