// SPDX-License-Identifier: MIT
//
// Estimates and reports of memory (TN-EST, TN-MEM). README.md says how a section becomes a plugin.

#ifdef ZOO_estimate_releases_blob
// Breaks TN-EST-1 at level 5: it gives the blob back that it is to look at.
#define STATED 16
#define BEFORE_ESTIMATE(context) (context)->processed->release((context)->processed)
#include "estimate.h"
#endif

#ifdef ZOO_estimated_kind_not_utf8
// Breaks TN-EST-1 at level 5: the kind of what it estimates is not UTF-8.
#define STATED 16
#define ESTIMATED_KIND "zoo.work\xff"
#include "estimate.h"
#endif

#ifdef ZOO_estimates_no_copies
// Breaks TN-EST-2 at level 5: a delegate keeps a copy of its first input when the shape is static,
// which it does not state.
#define STATED 24
#include "estimate.h"

ZOO_EXECUTE_FUNCTION(execute) {
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  if (status != TENON_STATUS_OK || args[0]->as.tensor->nbytes == 0) return status;
  const tenon_tensor* const input = args[0]->as.tensor;
  if (input->shape_dynamism != TENON_SHAPE_STATIC) return status;
  if (!delegate->note) delegate->note = malloc(input->nbytes);
  if (delegate->note) memcpy(delegate->note, good_data(input), input->nbytes);
  return status;
}

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  if (delegate) free(delegate->note);
  good_destroy(backend, delegate);
}

#define ZOO_EXECUTE execute
#define ZOO_DESTROY destroy
#endif

#ifdef ZOO_estimates_too_little
// Breaks TN-EST-2 at level 5: its delegates take much more memory than it states.
#define STATED 1000
#include "estimate.h"

ZOO_INIT_FUNCTION(init) { return init_with(backend, context, 1048576, out); }

#define ZOO_INIT init
#endif

#ifdef ZOO_estimates_too_much
// Breaks TN-EST-3 at level 5: its delegates take much less memory than it states.
#define STATED 1048576
#include "estimate.h"
#endif

#ifdef ZOO_good_estimate
// Breaks nothing: it states how much memory its delegates take.
#define STATED 1048576
#include "estimate.h"

ZOO_INIT_FUNCTION(init) { return init_with(backend, context, STATED, out); }

#define ZOO_INIT init
#endif

#ifdef ZOO_good_small_estimate
// Breaks nothing: its delegates take a few bytes, and it states those.
#define STATED 24
#include "estimate.h"
#endif

#ifdef ZOO_memory_without_kind
// Breaks TN-MEM-1 at level 5: it reports memory whose kind is NULL.
#define ZOO_MEMORY_KIND NULL
#endif

#ifdef ZOO_reports_too_much_memory
// Breaks TN-MEM-1 at level 5: it reports more memory than a process can have.
#include "good.h"

static tenon_status memory_info(tenon_backend* backend, tenon_delegate* delegate,
                                tenon_memory_sink sink, void* sink_context) {
  (void)backend;
  (void)delegate;
  const tenon_memory_use use = {
      .struct_size = sizeof use,
      .device = {.device_type = TENON_DL_CPU},
      .nbytes = UINT64_C(1) << 60,
      .kind = TENON_MEMORY_WEIGHTS,
  };
  sink(sink_context, &use);
  return TENON_STATUS_OK;
}

#define ZOO_MEMORY_INFO memory_info
#endif

#include "good_plugin.h"
