// SPDX-License-Identifier: MIT
// Breaks TN-AOT-1 at level 5: it compiles only on a machine with its device.
#include "good_compiler.h"

static tenon_status is_available(tenon_backend* backend) {
  return good_fail(backend->host, TENON_STATUS_NOT_FOUND, "device: expected 1 keeper, found 0");
}

static tenon_status preprocess(tenon_backend* backend, const tenon_partition* partitions,
                               uint32_t count, const tenon_preprocess_sink* sink) {
  const tenon_status status = is_available(backend);
  return status == TENON_STATUS_OK ? good_preprocess(backend, partitions, count, sink) : status;
}

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  const tenon_status status = is_available(backend);
  return status == TENON_STATUS_OK ? good_init(backend, context, out) : status;
}

#undef ZOO_PREPROCESS
#define ZOO_PREPROCESS preprocess
#define ZOO_IS_AVAILABLE is_available
#define ZOO_INIT init
#include "good_plugin.h"
