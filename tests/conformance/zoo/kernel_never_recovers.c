// SPDX-License-Identifier: MIT
// Breaks TN-KRN-4 at level 5: after a failed run, all later runs fail.
#include "kernels.h"

static tenon_status run(tenon_kernel* kernel, const tenon_execution_context* context) {
  if (kernel->note) {
    return good_fail(context->host, TENON_STATUS_INVALID_STATE,
                     "expected a kernel that did not fail, found one that did");
  }
  const tenon_status status = kernels_run(kernel, context);
  if (status != TENON_STATUS_OK) kernel->note = kernel;
  return status;
}

#undef ZOO_RUN_KERNEL
#define ZOO_RUN_KERNEL run
#include "good_plugin.h"
