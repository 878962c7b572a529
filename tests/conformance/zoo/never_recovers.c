// SPDX-License-Identifier: MIT
// Breaks TN-INI-6 at level 8: after one failed allocation, every later `init` fails.
#include "good.h"

static atomic_int failed;

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  if (atomic_load(&failed)) {
    return good_fail(backend->host, TENON_STATUS_INVALID_STATE,
                     "memory: expected none to have been refused before, found one that was");
  }
  const tenon_status status = good_init(backend, context, out);
  if (status == TENON_STATUS_MEMORY_ALLOCATION_FAILED) atomic_store(&failed, 1);
  return status;
}

#define ZOO_INIT init
#include "good_plugin.h"
