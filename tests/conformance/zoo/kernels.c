// SPDX-License-Identifier: MIT
//
// Kernels (TN-KRN). README.md says how a section becomes a plugin.

#ifdef ZOO_hides_its_kernels
// Breaks TN-KRN-1 at level 3: its record does not declare its kernels, so no host asks for them.
#define ZOO_FLAGS 0
#include "kernels.h"
#endif

#include "kernels.h"

#ifdef ZOO_gives_no_kernel
// Breaks TN-KRN-7 at level 5: create_kernel succeeds and returns NULL.
static tenon_status create(tenon_backend* backend, const tenon_kernel_context* context,
                           tenon_kernel** out) {
  *out = NULL;
  return kernels_check(backend, context);
}

#undef ZOO_CREATE_KERNEL
#define ZOO_CREATE_KERNEL create
#endif

#ifdef ZOO_good_kernels
// Breaks nothing: a backend with delegates and kernels.
#include "kernels.h"
#endif

#ifdef ZOO_has_any_operator
// Breaks TN-KRN-2 at level 5: an unknown overload is treated as the overload that it implements.
static tenon_status create(tenon_backend* backend, const tenon_kernel_context* context,
                           tenon_kernel** out) {
  tenon_kernel_context shown = *context;
  if (strncmp(shown.op, "zoo::add", 8) == 0) shown.op = "zoo::add.out";
  return kernels_create(backend, &shown, out);
}

#undef ZOO_CREATE_KERNEL
#define ZOO_CREATE_KERNEL create
#endif

#ifdef ZOO_kernel_never_recovers
// Breaks TN-KRN-4 at level 5: after a failed run, all later runs fail.
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
#endif

#ifdef ZOO_kernel_takes_any_arguments
// Breaks TN-KRN-3 at level 5: a call with unsupported arguments does nothing and succeeds.
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
#endif

#ifdef ZOO_leaks_kernels
// Breaks TN-KRN-8 at level 6: the memory of a kernel is kept when it is destroyed.
static void destroy(tenon_backend* backend, tenon_kernel* kernel) {
  (void)backend;
  (void)kernel;
}

#undef ZOO_DESTROY_KERNEL
#define ZOO_DESTROY_KERNEL destroy
#endif

#ifdef ZOO_lists_an_operator_twice
// Breaks TN-KRN-6 at level 5: one operator is listed twice.
static tenon_status list(tenon_backend* backend, tenon_operator_sink sink, void* context) {
  sink(context, kernels_names[0]);
  return kernels_list(backend, sink, context);
}

#undef ZOO_LIST_OPERATORS
#define ZOO_LIST_OPERATORS list
#endif

#include "good_plugin.h"
