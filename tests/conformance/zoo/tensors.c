// SPDX-License-Identifier: MIT
//
// Tensors (TN-TEN). README.md says how a section becomes a plugin.

#ifdef ZOO_changes_sizes_itself
// Breaks TN-TEN-2 at level 4: it writes the sizes of the output instead of calling the host.
#include "tenon/abi/tenon.h"

#define ZOO_RESIZE(host, tensor, sizes, rank) resize((tensor), (sizes), (rank))

static tenon_status resize(tenon_tensor* tensor, const int64_t* sizes, uint32_t rank) {
  if (tensor->shape_dynamism == TENON_SHAPE_STATIC) return TENON_STATUS_NOT_SUPPORTED;
  int64_t stride = 1;
  for (uint32_t d = rank; d-- > 0;) {
    if (sizes[d] > tensor->bounds[d]) return TENON_STATUS_NOT_SUPPORTED;
    tensor->dl.shape[d] = sizes[d];
    tensor->dl.strides[d] = stride;
    stride *= sizes[d];
  }
  tensor->nbytes = (uint64_t)stride * sizeof(float);
  return TENON_STATUS_OK;
}
#endif

#ifdef ZOO_ignores_byte_offset
// Breaks TN-TEN-5 at level 4: elements are looked for at `data`, whatever the byte offset.
#define ZOO_DATA(tensor) ((char*)(tensor)->dl.data)
#include "good.h"
#endif

#ifdef ZOO_ignores_strides
// Breaks TN-TEN-6 at level 4: elements are taken in their order in memory, whatever the strides.
#define ZOO_OFFSET(tensor, index) (good_offset((tensor), 0) + (index))
#include "good.h"
#endif

#include "good.h"

#ifdef ZOO_good_keeps_tensors
// Breaks nothing: `destroy` finds the output of the last run where `execute` found it (TN-TEN-3),
// for a session too.
#include <stdlib.h>

typedef struct kept {
  const tenon_tensor* tensor;
  const int64_t* shape;
  const int64_t* bounds;
  int64_t bound;  ///< The first one.
  int32_t rank;
} kept;

ZOO_EXECUTE_FUNCTION(execute) {
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
#endif

#ifdef ZOO_needs_alignment
// Breaks TN-TEN-4 at level 4: data that is not aligned to 16 bytes is refused.
ZOO_EXECUTE_FUNCTION(execute) {
  for (uint32_t i = 0; i < num_args && args[i]->kind == TENON_VALUE_TENSOR; ++i) {
    const float* const data = good_data(args[i]->as.tensor);
    if ((uintptr_t)data % 16 != 0) {
      return good_fail(backend->host, TENON_STATUS_INVALID_ARGUMENT,
                       "argument %u: expected data at a multiple of 16, found %p", i,
                       (const void*)data);
    }
  }
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#endif

#ifdef ZOO_writes_to_constant
// Breaks TN-TEN-1: `execute` writes the same value back to a constant.
ZOO_EXECUTE_FUNCTION(execute) {
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  for (uint32_t i = 0; status == TENON_STATUS_OK && i < num_args; ++i) {
    const tenon_tensor* const tensor = args[i]->as.tensor;
    if ((tensor->flags & TENON_TENSOR_CONSTANT) != 0 && tensor->nbytes > 0) {
      volatile float* const first = good_data(tensor);
      *first = *first;
    }
  }
  return status;
}

#define ZOO_EXECUTE execute
#endif

#include "good_plugin.h"
