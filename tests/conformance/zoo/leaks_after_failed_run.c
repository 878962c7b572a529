// SPDX-License-Identifier: MIT
// Breaks TN-DES-3 at level 6: after a failed run, the memory of the delegate is kept until `close`.
#include "good.h"
#include "keep.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  delegate->note = status == TENON_STATUS_OK ? NULL : delegate;
  return status;
}

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  if (delegate && delegate->note) keep_memory(&backend->note);
  good_destroy(backend, delegate);
}

static void close_backend(tenon_backend* backend) {
  free_kept(&backend->note);
  good_close(backend);
}

#define ZOO_EXECUTE execute
#define ZOO_DESTROY destroy
#define ZOO_CLOSE close_backend
#include "good_plugin.h"
