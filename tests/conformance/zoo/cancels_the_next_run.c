// SPDX-License-Identifier: MIT
// Breaks TN-CAN-2 at level 5: a call of `cancel` outside of `execute` ends the next one.
#include "good.h"

static atomic_int cancelled;

static void cancel(tenon_backend* backend, tenon_delegate* delegate) {
  (void)backend;
  (void)delegate;
  atomic_store(&cancelled, 1);
}

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  if (atomic_exchange(&cancelled, 0) != 0) {
    return good_fail(backend->host, TENON_STATUS_CANCELLED, "execute: the run was cancelled");
  }
  return good_execute(backend, delegate, context, args, num_args);
}

static const tenon_cancel_v1 cancelling = {
    .struct_size = sizeof(tenon_cancel_v1),
    .cancel = cancel,
};

#define ZOO_EXTENSIONS(id) \
  if (strcmp(id, TENON_EXTENSION_CANCEL) == 0) return &cancelling
#define ZOO_EXECUTE execute
#include "good_plugin.h"
