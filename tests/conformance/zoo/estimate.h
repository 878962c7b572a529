// SPDX-License-Identifier: MIT
//
// Extension "tenon.estimate/1" of a plugin of the zoo. Its source defines STATED, the bytes that
// are estimated for each delegate, and perhaps BEFORE_ESTIMATE(context), which is done first, and
// ESTIMATED_KIND; a source that includes good.h before it adds this with ZOO_EXTENSIONS.

#ifndef TENON_ZOO_ESTIMATE_H
#define TENON_ZOO_ESTIMATE_H

#include "good.h"

#ifndef ESTIMATED_KIND
#define ESTIMATED_KIND TENON_MEMORY_WORKSPACE
#endif

static tenon_status estimate(tenon_backend* backend, const tenon_init_context* context,
                             tenon_memory_sink sink, void* sink_context) {
  (void)backend;
  (void)context;
#ifdef BEFORE_ESTIMATE
  BEFORE_ESTIMATE(context);
#endif
  const tenon_memory_use use = {
      .struct_size = sizeof use,
      .device = {.device_type = TENON_DL_CPU},
      .nbytes = STATED,
      .kind = ESTIMATED_KIND,
  };
  sink(sink_context, &use);
  return TENON_STATUS_OK;
}

static const tenon_estimate_v1 estimating = {
    .struct_size = sizeof(tenon_estimate_v1),
    .estimate = estimate,
};

#define ZOO_EXTENSIONS(id) \
  if (strcmp(id, TENON_EXTENSION_ESTIMATE) == 0) return &estimating

/// `init` that takes `nbytes` from the host, which frees them.
static inline tenon_status init_with(tenon_backend* backend, const tenon_init_context* context,
                                     uint64_t nbytes, tenon_delegate** out) {
  if (!ZOO_ALLOCATE(context->runtime_allocator, nbytes, 64)) {
    return good_fail(backend->host, TENON_STATUS_MEMORY_ALLOCATION_FAILED,
                     "init: expected %llu bytes of the runtime allocator, found none",
                     (unsigned long long)nbytes);
  }
  return good_init(backend, context, out);
}

#endif  // TENON_ZOO_ESTIMATE_H
