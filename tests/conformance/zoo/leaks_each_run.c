// SPDX-License-Identifier: MIT
// Breaks TN-EXE-9 at level 6: each run allocates memory that is kept until `destroy`.
#include "good.h"
#include "keep.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  keep_memory(&delegate->note);
  return good_execute(backend, delegate, context, args, num_args);
}

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  if (delegate) free_kept(&delegate->note);
  good_destroy(backend, delegate);
}

#define ZOO_EXECUTE execute
#define ZOO_DESTROY destroy
#include "good_plugin.h"
