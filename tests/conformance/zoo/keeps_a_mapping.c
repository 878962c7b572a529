// SPDX-License-Identifier: MIT
// Breaks TN-BCK-5 at level 6: a mapping that `open` made still exists after `close`.
#include <sys/mman.h>
#include "good.h"

static tenon_status open_backend(const tenon_host* host, tenon_backend** out) {
  void* const mapped =
      mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped != MAP_FAILED) memset(mapped, 1, 1 << 20);
  return good_open(host, out);
}

#define ZOO_OPEN open_backend
#include "good_plugin.h"
