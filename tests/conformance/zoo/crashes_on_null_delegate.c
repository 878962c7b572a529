// SPDX-License-Identifier: MIT
// Breaks TN-DES-2: `destroy` dereferences the NULL delegate that `init` returned.
#include "null_delegate.h"

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  *(volatile int64_t*)&delegate->runs = 0;
  good_destroy(backend, delegate);
}

#define ZOO_DESTROY destroy
#include "good_plugin.h"
