// SPDX-License-Identifier: MIT
// Breaks TN-KRN-2 at level 5: an unknown overload is treated as the one that it implements.
#include "kernels.h"

static tenon_status create(tenon_backend* backend, const char* op, tenon_value* const* args,
                           uint32_t num_args, tenon_kernel** out) {
  const int is_add = strncmp(op, "zoo::add", 8) == 0;
  return kernels_create(backend, is_add ? "zoo::add.out" : op, args, num_args, out);
}

#undef ZOO_CREATE_KERNEL
#define ZOO_CREATE_KERNEL create
#include "good_plugin.h"
