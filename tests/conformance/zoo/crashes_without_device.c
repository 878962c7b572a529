// SPDX-License-Identifier: MIT
// Breaks TN-BCK-6: `is_available` crashes if the file of its device is missing.
#include <stdio.h>
#include "good.h"

static tenon_status is_available(tenon_backend* backend) {
  FILE* const device = fopen("/dev/zoo/keeper", "rb");
  char name[16];
  // A correct plugin checks whether the file exists.
  if (fread(name, sizeof name, 1, device) == 1) fclose(device);
  return good_is_available(backend);
}

#define ZOO_IS_AVAILABLE is_available
#include "good_plugin.h"
