// SPDX-License-Identifier: MIT
// Breaks nothing: it gives a verdict that this host does not know about the blobs that it takes.
#include "good.h"

enum { verdict_of_later = 7 };

static tenon_status check_blob(tenon_backend* backend, const tenon_init_context* context,
                               uint32_t* verdict) {
  const tenon_status status = good_check_blob(backend, context, verdict);
  if (status != TENON_STATUS_OK || *verdict != TENON_BLOB_OPTIMAL) return status;
  *verdict = verdict_of_later;
  (void)good_fail(backend->host, TENON_STATUS_NOT_SUPPORTED, "better after a second load");
  return TENON_STATUS_OK;
}

#define ZOO_CHECK_BLOB check_blob
#include "good_plugin.h"
