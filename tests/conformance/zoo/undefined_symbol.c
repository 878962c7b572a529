// SPDX-License-Identifier: MIT
// Breaks TN-BIN-11: it needs a function that no library defines.
#include "good.h"

extern void tenon_zoo_nobody_has_this(void);

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  tenon_zoo_nobody_has_this();
  good_destroy(backend, delegate);
}

#define ZOO_DESTROY destroy
#include "good_plugin.h"
