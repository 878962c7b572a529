// SPDX-License-Identifier: MIT
// Breaks TN-INI-5 at level 5: `init` trusts the key length in the blob and reads beyond its end.
#include "good.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  const tenon_buffer* const blob = context->processed;
  if (blob->nbytes >= 16) {
    const volatile unsigned char* const bytes = (const volatile unsigned char*)blob->data;
    const uint32_t size = bytes[12] | (uint32_t)bytes[13] << 8 | (uint32_t)bytes[14] << 16 |
                          (uint32_t)bytes[15] << 24;
    for (uint32_t i = 0; i < size; ++i) (void)bytes[16 + (size_t)i];
  }
  return good_init(backend, context, out);
}

#define ZOO_INIT init
#include "good_plugin.h"
