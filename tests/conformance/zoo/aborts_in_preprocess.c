// SPDX-License-Identifier: MIT
// Breaks TN-BCK-7 at level 5: `preprocess` ends the process.
#include "good_compiler.h"

static tenon_status preprocess(tenon_backend* backend, const tenon_partition* partitions,
                               uint32_t count, const tenon_preprocess_sink* sink) {
  (void)backend;
  (void)partitions;
  (void)count;
  (void)sink;
  abort();
}

#undef ZOO_PREPROCESS
#define ZOO_PREPROCESS preprocess
#include "good_plugin.h"
