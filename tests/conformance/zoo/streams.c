// SPDX-License-Identifier: MIT
//
// Streams (TN-STR). README.md says how a section becomes a plugin.

#include "good.h"

#ifdef ZOO_loses_its_own_stream
// Breaks TN-STR-1 at level 4: a delegate that is given its own stream back computes something else.
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
#endif

#ifdef ZOO_streams_without_kind
// Breaks TN-STR-6 at level 4: the table of streams does not say of which kind they are.
static tenon_status set_stream(tenon_backend* backend, tenon_delegate* delegate, void* stream) {
  (void)delegate;
  if (!stream) return TENON_STATUS_OK;
  return good_fail(backend->host, TENON_STATUS_NOT_SUPPORTED,
                   "set_stream: expected NULL, found a stream, and there is no device");
}

static const tenon_streams_v1 streams = {
    .struct_size = sizeof(tenon_streams_v1),
    .set_stream = set_stream,
};

#define ZOO_EXTENSIONS(id) \
  if (strcmp(id, TENON_EXTENSION_STREAMS) == 0) return &streams
#endif

#include "good_plugin.h"
