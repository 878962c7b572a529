// SPDX-License-Identifier: MIT
// Breaks TN-COD-4 at level 4: `check_blob` maps the blob as code, until `close`.
#include "code.h"

static tenon_status check_blob(tenon_backend* backend, const tenon_init_context* context,
                               uint32_t* verdict) {
  const tenon_status status = good_check_blob(backend, context, verdict);
  if (status != TENON_STATUS_OK || *verdict == TENON_BLOB_INCOMPATIBLE) return status;
  unmap_code(&backend->note);
  return map_code(backend->host, context->processed, &backend->note);
}

static void close_backend(tenon_backend* backend) {
  unmap_code(&backend->note);
  good_close(backend);
}

#define ZOO_CHECK_BLOB check_blob
#define ZOO_CLOSE close_backend
#include "good_plugin.h"
