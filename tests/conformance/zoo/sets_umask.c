// SPDX-License-Identifier: MIT
// Breaks TN-PRC-4: `init` changes the mask for new files.
#include <sys/stat.h>
#include "good.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  umask(umask(0) ^ S_IRWXO);
  return good_init(backend, context, out);
}

#define ZOO_INIT init
#include "good_plugin.h"
