// SPDX-License-Identifier: MIT
// Breaks TN-EST-2 at level 5: a delegate keeps a copy of its first input when the shape is static,
// which it does not state.
#define STATED 24
#include "estimate.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  if (status != TENON_STATUS_OK || args[0]->as.tensor->nbytes == 0) return status;
  const tenon_tensor* const input = args[0]->as.tensor;
  if (input->shape_dynamism != TENON_SHAPE_STATIC) return status;
  if (!delegate->note) delegate->note = malloc(input->nbytes);
  if (delegate->note) memcpy(delegate->note, good_data(input), input->nbytes);
  return status;
}

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  if (delegate) free(delegate->note);
  good_destroy(backend, delegate);
}

#define ZOO_EXECUTE execute
#define ZOO_DESTROY destroy
#include "good_plugin.h"
