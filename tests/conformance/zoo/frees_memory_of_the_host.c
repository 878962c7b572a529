// SPDX-License-Identifier: MIT
// Breaks TN-BCK-2 at level 4: `destroy` frees the model, which is in the host's runtime memory.
#include "good.h"

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  if (delegate) free(delegate->model);
  good_destroy(backend, delegate);
}

#define ZOO_DESTROY destroy
#include "good_plugin.h"
