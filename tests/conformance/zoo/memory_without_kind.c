// SPDX-License-Identifier: MIT
// Breaks TN-MEM-1 at level 5: it reports memory whose kind is NULL.
#include "good.h"

static tenon_status memory_info(tenon_backend* backend, tenon_delegate* delegate,
                                tenon_memory_sink sink, void* sink_context) {
  (void)backend;
  if (!delegate) return TENON_STATUS_OK;
  const tenon_memory_use use = {
      .struct_size = sizeof use,
      .device = {.device_type = TENON_DL_CPU},
      .nbytes = sizeof(tenon_delegate),
  };
  sink(sink_context, &use);
  return TENON_STATUS_OK;
}

#define ZOO_MEMORY_INFO memory_info
#include "good_plugin.h"
