// SPDX-License-Identifier: MIT
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
#include "good_plugin.h"
