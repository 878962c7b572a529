// SPDX-License-Identifier: MIT
// Breaks TN-INI-5: `init` changes the blob in place.
#include "good.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  const tenon_buffer* const blob = context->processed;
  if (blob->nbytes > 0) {
    // Through a pointer that is not const, like code that swaps bytes in place.
    volatile char* const bytes = (volatile char*)(uintptr_t)blob->data;
    bytes[blob->nbytes - 1] = (char)(bytes[blob->nbytes - 1] ^ 1);
    bytes[blob->nbytes - 1] = (char)(bytes[blob->nbytes - 1] ^ 1);
  }
  return good_init(backend, context, out);
}

#define ZOO_INIT init
#include "good_plugin.h"
