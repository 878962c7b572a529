// SPDX-License-Identifier: MIT
// Breaks TN-STR-1 at level 4: a delegate that is given its own stream back computes something else.
#include "good.h"

static tenon_status set_stream(tenon_backend* backend, tenon_delegate* delegate, void* stream) {
  if (stream) {
    return good_fail(backend->host, TENON_STATUS_NOT_SUPPORTED,
                     "set_stream: expected NULL, found a stream, and there is no device");
  }
  delegate->model->bias += 1.0f;
  return TENON_STATUS_OK;
}

static const tenon_streams_v1 streams = {
    .struct_size = sizeof(tenon_streams_v1),
    .kind = "zoo.stream",
    .set_stream = set_stream,
};

#define ZOO_EXTENSIONS(id) \
  if (strcmp(id, TENON_EXTENSION_STREAMS) == 0) return &streams
#include "good_plugin.h"
