// SPDX-License-Identifier: MIT
// Breaks TN-BCK-5: a file that `open` made in $TMPDIR still exists after `close`.
#include <stdlib.h>
#include <unistd.h>
#include "good.h"

static tenon_status open_backend(const tenon_host* host, tenon_backend** out) {
  // Without TMPDIR, and where a subject file switches it off, nothing is written.
  const char* const directory = getenv("ZOO_LEAVES_NOTHING") ? NULL : getenv("TMPDIR");
  char path[4096];
  if (directory && snprintf(path, sizeof path, "%s/zoo-XXXXXX", directory) < (int)sizeof path) {
    const int file = mkstemp(path);
    if (file >= 0) close(file);
  }
  return good_open(host, out);
}

#define ZOO_OPEN open_backend
#include "good_plugin.h"
