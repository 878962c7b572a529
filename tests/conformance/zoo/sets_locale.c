// SPDX-License-Identifier: MIT
// Breaks TN-PRC-1: `init` sets the locale of the process.
#include <locale.h>
#include "good.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  setlocale(LC_ALL, "C.UTF-8");
  return good_init(backend, context, out);
}

#define ZOO_INIT init
#include "good_plugin.h"
