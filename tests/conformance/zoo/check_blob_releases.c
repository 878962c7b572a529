// SPDX-License-Identifier: MIT
// Breaks TN-BLB-1 at level 5: `check_blob` releases the blob.
#include "good.h"

static tenon_status check_blob(tenon_backend* backend, const tenon_init_context* context,
                               uint32_t* verdict) {
  const tenon_status status = good_check_blob(backend, context, verdict);
  context->processed->release(context->processed);
  return status;
}

#define ZOO_CHECK_BLOB check_blob
#include "good_plugin.h"
