// SPDX-License-Identifier: MIT
// Breaks TN-DES-1 at level 3: `destroy` changes the numbers of the delegate that was loaded last.
#include "good.h"

static _Atomic(tenon_delegate*) newest;

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  const tenon_status status = good_init(backend, context, out);
  if (status == TENON_STATUS_OK) atomic_store(&newest, *out);
  return status;
}

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  tenon_delegate* expected = delegate;
  // The model of another delegate; for the newest itself, only its own memory.
  if (!atomic_compare_exchange_strong(&newest, &expected, NULL) && expected) {
    expected->model->added += 1.0f;
  }
  good_destroy(backend, delegate);
}

#define ZOO_INIT init
#define ZOO_DESTROY destroy
#include "good_plugin.h"
