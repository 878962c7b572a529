// SPDX-License-Identifier: MIT
// Breaks TN-KRN-7 at level 5: create_kernel succeeds and returns NULL.
#include "kernels.h"

static tenon_status create(tenon_backend* backend, const tenon_kernel_context* context,
                           tenon_kernel** out) {
  *out = NULL;
  return kernels_check(backend, context);
}

#undef ZOO_CREATE_KERNEL
#define ZOO_CREATE_KERNEL create
#include "good_plugin.h"
