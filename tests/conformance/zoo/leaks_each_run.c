// SPDX-License-Identifier: MIT
// Breaks TN-EXE-9 at level 6: each run allocates memory that is kept until `destroy`.
#include "good.h"
#include "keep.h"

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  if (delegate) free_kept(&delegate->note);
  good_destroy(backend, delegate);
}

#define ZOO_BEFORE_RUN keep_memory(&delegate->note)
#define ZOO_DESTROY destroy
#include "good_plugin.h"
