// SPDX-License-Identifier: MIT
// Breaks TN-INI-1 at level 6: the memory of a failed `init` is kept until `close`.
#include "good.h"
#include "keep.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  const tenon_status status = good_init(backend, context, out);
  if (status != TENON_STATUS_OK) keep_memory(&backend->note);
  return status;
}

static void close_backend(tenon_backend* backend) {
  free_kept(&backend->note);
  good_close(backend);
}

#define ZOO_INIT init
#define ZOO_CLOSE close_backend
#include "good_plugin.h"
