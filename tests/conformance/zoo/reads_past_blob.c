// SPDX-License-Identifier: MIT
// Breaks TN-INI-5 at level 5: `init` reads the byte after the end of the blob.
#include "good.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  const volatile char* const bytes = (const volatile char*)context->processed->data;
  if (bytes) (void)bytes[context->processed->nbytes];
  return good_init(backend, context, out);
}

#define ZOO_INIT init
#include "good_plugin.h"
