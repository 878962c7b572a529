// SPDX-License-Identifier: MIT
// Breaks TN-AOT-4 at level 5: it compiles any program as an addition.
#include "good_compiler.h"

static tenon_status preprocess(tenon_backend* backend, const tenon_partition* partitions,
                               uint32_t count, const tenon_preprocess_sink* sink) {
  (void)backend;
  (void)partitions;
  tenon_status status = TENON_STATUS_OK;
  for (uint32_t i = 0; i < count && status == TENON_STATUS_OK; ++i) {
    status = good_send_blob(i, sink);
  }
  return status;
}

#undef ZOO_PREPROCESS
#define ZOO_PREPROCESS preprocess
#include "good_plugin.h"
