// SPDX-License-Identifier: MIT
// Breaks TN-INI-2 at level 5: an unknown version is refused only by `execute`.
#define ZOO_KNOWS_VERSION(version) ((version) != 0)
#include "good.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  if (delegate->model->version != 1) {
    return good_fail(backend->host, TENON_STATUS_DELEGATE_INVALID_COMPATIBILITY,
                     "blob: expected version 1, found version %u", delegate->model->version);
  }
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
