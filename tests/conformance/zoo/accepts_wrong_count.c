// SPDX-License-Identifier: MIT
// Breaks TN-EXE-5: arguments behind the last are not noticed.
#include "good.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  const uint32_t expected = delegate->model->operation == 0 ? 3 : 2;
  return good_execute(backend, delegate, context, args, num_args > expected ? expected : num_args);
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
