// SPDX-License-Identifier: MIT
// Breaks TN-INI-8 at level 4: once a program with a counter was destroyed, others give other
// numbers.
#include "good.h"

static atomic_int counted;

static void after_run(const tenon_delegate* delegate, const tenon_tensor* out) {
  if (delegate->model->operation == 1) return;
  if (atomic_load(&counted) != 0) *good_element(out, 0) += 1.0f;
}

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  if (delegate && delegate->model->operation == 1 && delegate->runs > 0) {
    atomic_store(&counted, 1);
  }
  good_destroy(backend, delegate);
}

#define ZOO_AFTER_RUN after_run(delegate, out)
#define ZOO_DESTROY destroy
#include "good_plugin.h"
