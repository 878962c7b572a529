// SPDX-License-Identifier: MIT
// Breaks nothing: `destroy` finds the output of the last run where `execute` found it (TN-TEN-3),
// for a session too.
#include <stdlib.h>

#include "good.h"

typedef struct kept {
  const tenon_tensor* tensor;
  const int64_t* shape;
  const int64_t* bounds;
  int64_t bound;  ///< The first one.
  int32_t rank;
} kept;

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  const tenon_tensor* const result = status == TENON_STATUS_OK ? good_output(args, num_args) : NULL;
  if (!result || !delegate) return status;
  if (!delegate->note) delegate->note = malloc(sizeof(kept));
  if (!delegate->note) return status;
  *(kept*)delegate->note = (kept){
      .tensor = result,
      .shape = result->dl.shape,
      .bounds = result->bounds,
      .bound = result->dl.ndim > 0 ? result->bounds[0] : 0,
      .rank = result->dl.ndim,
  };
  return status;
}

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  const kept* const last = delegate ? (const kept*)delegate->note : NULL;
  if (last) {
    const tenon_tensor* const tensor = last->tensor;
    const int is_same = tensor->struct_size == sizeof *tensor && tensor->dl.ndim == last->rank &&
                        tensor->dl.shape == last->shape && tensor->bounds == last->bounds &&
                        (last->rank == 0 || tensor->bounds[0] == last->bound);
    if (!is_same) abort();
  }
  if (delegate) free(delegate->note);
  good_destroy(backend, delegate);
}

#define ZOO_EXECUTE execute
#define ZOO_DESTROY destroy
#include "good_plugin.h"
