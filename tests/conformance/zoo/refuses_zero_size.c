// SPDX-License-Identifier: MIT
// Breaks TN-EXE-10: a tensor without elements is refused.
#include "good.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  if (num_args > 0 && args[0]->kind == TENON_VALUE_TENSOR && args[0]->as.tensor->nbytes == 0) {
    return good_fail(backend->host, TENON_STATUS_NOT_SUPPORTED,
                     "argument 0: expected one element or more, found 0");
  }
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
