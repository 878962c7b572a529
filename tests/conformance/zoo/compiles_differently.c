// SPDX-License-Identifier: MIT
// Breaks TN-AOT-2 at level 5: each compilation adds different named data.
#include "good_compiler.h"

static tenon_status preprocess(tenon_backend* backend, const tenon_partition* partitions,
                               uint32_t count, const tenon_preprocess_sink* sink) {
  static atomic_uint calls;
  const unsigned char call = (unsigned char)atomic_fetch_add(&calls, 1);
  const tenon_named_data data = {
      .struct_size = sizeof data, .alignment = 1, .key = "call", .data = &call, .nbytes = 1};
  tenon_status status = good_preprocess(backend, partitions, count, sink);
  for (uint32_t i = 0; i < count && status == TENON_STATUS_OK; ++i) {
    status = sink->add_named_data(sink->context, i, &data);
  }
  return status;
}

#undef ZOO_PREPROCESS
#define ZOO_PREPROCESS preprocess
#include "good_plugin.h"
