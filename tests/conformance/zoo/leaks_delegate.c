// SPDX-License-Identifier: MIT
// Breaks TN-DES-3 at level 6: the memory of a delegate is kept until `close`.
#include "good.h"
#include "keep.h"

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  keep_memory(&backend->note);
  good_destroy(backend, delegate);
}

static void close_backend(tenon_backend* backend) {
  free_kept(&backend->note);
  good_close(backend);
}

#define ZOO_DESTROY destroy
#define ZOO_CLOSE close_backend
#include "good_plugin.h"
