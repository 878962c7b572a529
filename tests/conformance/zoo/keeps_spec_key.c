// SPDX-License-Identifier: MIT
// Breaks TN-INI-3 at level 3: `execute` reads the key of a compile spec.
#include "good.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  const tenon_status status = good_init(backend, context, out);
  if (status == TENON_STATUS_OK && context->num_compile_specs != 0) {
    (*out)->note = (void*)(uintptr_t)context->compile_specs->key;
  }
  return status;
}

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  const volatile char* const kept = (const char*)delegate->note;
  if (kept && kept[0] == '\0') {
    return good_fail(backend->host, TENON_STATUS_INVALID_STATE,
                     "compile spec: expected a key with letters, found an empty one");
  }
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_INIT init
#define ZOO_EXECUTE execute
#include "good_plugin.h"
