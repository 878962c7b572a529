// SPDX-License-Identifier: MIT
// Breaks TN-BUF-1: `init` reads the blob after releasing it.
#include "good.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  const volatile char* const bytes = (const volatile char*)context->processed->data;
  const tenon_status status = good_init(backend, context, out);
  if (status == TENON_STATUS_OK) (void)bytes[0];
  return status;
}

#define ZOO_INIT init
#include "good_plugin.h"
