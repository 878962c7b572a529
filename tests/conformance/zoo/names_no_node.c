// SPDX-License-Identifier: MIT
// Breaks TN-AOT-4 at level 5: it refuses a program without naming the unsupported node.
#include "good_compiler.h"

static tenon_status preprocess(tenon_backend* backend, const tenon_partition* partitions,
                               uint32_t count, const tenon_preprocess_sink* sink) {
  for (uint32_t i = 0; i < count; ++i) {
    if (!good_takes(ZOO_AT(tenon_partition, partitions, i)->program, 0)) {
      return good_fail(backend->host, TENON_STATUS_NOT_SUPPORTED,
                       "expected additions, found something else in partition %u", i);
    }
  }
  return good_preprocess(backend, partitions, count, sink);
}

#undef ZOO_PREPROCESS
#define ZOO_PREPROCESS preprocess
#include "good_plugin.h"
