// SPDX-License-Identifier: MIT
// Breaks TN-BCK-6: without the file of its device, `is_available` crashes.
#include <stdio.h>
#include "good.h"

static tenon_status is_available(tenon_backend* backend) {
  FILE* const device = fopen("/dev/zoo/keeper", "rb");
  char name[16];
  // A good one asks whether there is a file.
  if (fread(name, sizeof name, 1, device) == 1) fclose(device);
  return good_is_available(backend);
}

#define ZOO_IS_AVAILABLE is_available
#include "good_plugin.h"
