// SPDX-License-Identifier: MIT
// Breaks TN-STR-6 at level 4: the table of streams does not say of which kind they are.
#include "good.h"

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
#include "good_plugin.h"
