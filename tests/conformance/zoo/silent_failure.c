// SPDX-License-Identifier: MIT
// Breaks TN-ERR-2 at level 4: a wrong number of arguments is refused without an error text.
#include "good.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  if (num_args != (delegate->model->operation == 0 ? 3 : 2)) return TENON_STATUS_INVALID_ARGUMENT;
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
