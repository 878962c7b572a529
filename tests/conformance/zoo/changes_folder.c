// SPDX-License-Identifier: MIT
// Breaks TN-PRC-4: `init` changes the current directory.
#include <unistd.h>
#include "good.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  if (chdir("/") != 0) {
    return good_fail(backend->host, TENON_STATUS_ACCESS_FAILED,
                     "directory /: expected to change to it");
  }
  return good_init(backend, context, out);
}

#define ZOO_INIT init
#include "good_plugin.h"
