// SPDX-License-Identifier: MIT
// Breaks TN-KRN-2 at level 5: an unknown overload is treated as the overload that it implements.
#include "kernels.h"

static tenon_status create(tenon_backend* backend, const tenon_kernel_context* context,
                           tenon_kernel** out) {
  tenon_kernel_context shown = *context;
  if (strncmp(shown.op, "zoo::add", 8) == 0) shown.op = "zoo::add.out";
  return kernels_create(backend, &shown, out);
}

#undef ZOO_CREATE_KERNEL
#define ZOO_CREATE_KERNEL create
#include "good_plugin.h"
