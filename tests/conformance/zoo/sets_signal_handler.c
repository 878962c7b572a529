// SPDX-License-Identifier: MIT
// Breaks TN-PRC-2: `init` handles SIGTERM.
#include <signal.h>
#include "good.h"

static void ignore(int number) { (void)number; }

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  signal(SIGTERM, ignore);
  return good_init(backend, context, out);
}

#define ZOO_INIT init
#include "good_plugin.h"
