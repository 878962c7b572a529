// SPDX-License-Identifier: MIT
// Breaks TN-KRN-7 at level 5: create_kernel succeeds and returns NULL.
#include "kernels.h"

static tenon_status create(tenon_backend* backend, const char* op, tenon_value* const* args,
                           uint32_t num_args, tenon_kernel** out) {
  *out = NULL;
  return kernels_check(backend, op, args, num_args);
}

#undef ZOO_CREATE_KERNEL
#define ZOO_CREATE_KERNEL create
#include "good_plugin.h"
