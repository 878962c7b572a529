// SPDX-License-Identifier: MIT
// Breaks TN-BCK-5 at level 6: memory that `open` allocated is still allocated after `close`.
#include "good.h"
#include "keep.h"

static tenon_status open_backend(const tenon_host* host, tenon_backend** out) {
  static void* kept;
  keep_memory(&kept);
  return good_open(host, out);
}

#define ZOO_OPEN open_backend
#include "good_plugin.h"
