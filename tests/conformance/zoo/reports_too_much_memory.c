// SPDX-License-Identifier: MIT
// Breaks TN-MEM-1 at level 5: it reports more memory than a process can have.
#include "good.h"

static tenon_status memory_info(tenon_backend* backend, tenon_delegate* delegate,
                                tenon_memory_sink sink, void* sink_context) {
  (void)backend;
  (void)delegate;
  const tenon_memory_use use = {
      .struct_size = sizeof use,
      .device = {.device_type = TENON_DL_CPU},
      .nbytes = UINT64_C(1) << 60,
      .kind = TENON_MEMORY_WEIGHTS,
  };
  sink(sink_context, &use);
  return TENON_STATUS_OK;
}

#define ZOO_MEMORY_INFO memory_info
#include "good_plugin.h"
