// SPDX-License-Identifier: MIT
// Breaks TN-KRN-3 at level 5: a call with unsupported arguments does nothing and succeeds.
#include "kernels.h"

static tenon_status create(tenon_backend* backend, const tenon_kernel_context* context,
                           tenon_kernel** out) {
  const tenon_status status = kernels_check(backend, context);
  tenon_kernel_context without = *context;
  without.num_args = 0;
  if (status == TENON_STATUS_INVALID_ARGUMENT) return kernels_make(backend, &without, out);
  return status == TENON_STATUS_OK ? kernels_make(backend, context, out) : status;
}

static tenon_status run(tenon_kernel* kernel, const tenon_execution_context* context) {
  return kernel->num_args ? kernels_run(kernel, context) : TENON_STATUS_OK;
}

#undef ZOO_CREATE_KERNEL
#define ZOO_CREATE_KERNEL create
#undef ZOO_RUN_KERNEL
#define ZOO_RUN_KERNEL run
#include "good_plugin.h"
