// SPDX-License-Identifier: MIT
// Breaks TN-BCK-5: a process that `open` started still runs after `close`.
#include <unistd.h>
#include "good.h"

static tenon_status open_backend(const tenon_host* host, tenon_backend** out) {
  if (fork() == 0) {
    alarm(60);  // Ends it if nothing else does.
    for (;;) pause();
  }
  return good_open(host, out);
}

#define ZOO_OPEN open_backend
#include "good_plugin.h"
