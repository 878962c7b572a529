// SPDX-License-Identifier: MIT
// Breaks TN-KRN-8 at level 6: the memory of a kernel is kept when it is destroyed.
#include "kernels.h"

static void destroy(tenon_backend* backend, tenon_kernel* kernel) {
  (void)backend;
  (void)kernel;
}

#undef ZOO_DESTROY_KERNEL
#define ZOO_DESTROY_KERNEL destroy
#include "good_plugin.h"
