// SPDX-License-Identifier: MIT
// Breaks TN-BCK-7: `destroy` writes to an invalid address.
#include "good.h"

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  good_destroy(backend, delegate);
  *(volatile int*)(uintptr_t)16 = 1;
}

#define ZOO_DESTROY destroy
#include "good_plugin.h"
