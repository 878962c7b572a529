// SPDX-License-Identifier: MIT
// Breaks TN-INI-8 at level 4: once a program with a counter was destroyed, others give other
// numbers.
#include "good.h"

static atomic_int counted;

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  const tenon_tensor* const out = good_output(args, num_args);
  if (status != TENON_STATUS_OK || !out || delegate->model->operation == 1) return status;
  if (atomic_load(&counted) != 0) *good_element(out, 0) += 1.0f;
  return status;
}

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  if (delegate && delegate->model->operation == 1 && delegate->runs > 0) {
    atomic_store(&counted, 1);
  }
  good_destroy(backend, delegate);
}

#define ZOO_EXECUTE execute
#define ZOO_DESTROY destroy
#include "good_plugin.h"
