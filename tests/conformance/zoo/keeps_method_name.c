// SPDX-License-Identifier: MIT
// Breaks TN-INI-3 at level 3: `destroy` reads the method's name in the context of `init`.
#include "good.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  const tenon_status status = good_init(backend, context, out);
  if (status == TENON_STATUS_OK) (*out)->note = (void*)(uintptr_t)context->method_name;
  return status;
}

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  const volatile char* const kept = delegate ? (const char*)delegate->note : NULL;
  if (kept && kept[0] == '\0') backend->note = delegate;
  good_destroy(backend, delegate);
}

#define ZOO_INIT init
#define ZOO_DESTROY destroy
#include "good_plugin.h"
