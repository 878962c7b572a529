// SPDX-License-Identifier: MIT
// Breaks TN-EXE-5 at level 4: arguments after the expected ones are ignored.
#include "good.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  const int adds = delegate->model->operation == 0;
  return good_execute(backend, delegate, context, args, adds && num_args > 3 ? 3 : num_args);
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
