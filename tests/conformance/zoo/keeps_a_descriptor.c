// SPDX-License-Identifier: MIT
// Breaks TN-BCK-5 at level 6: a descriptor that `open` opened is still open after `close`.
#include <fcntl.h>
#include "good.h"

static tenon_status open_backend(const tenon_host* host, tenon_backend** out) {
  const int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
  return descriptor < 0 ? good_fail(host, TENON_STATUS_ACCESS_FAILED,
                                    "/dev/null: expected a descriptor, found %d", descriptor)
                        : good_open(host, out);
}

#define ZOO_OPEN open_backend
#include "good_plugin.h"
