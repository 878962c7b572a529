// SPDX-License-Identifier: MIT
// Breaks TN-DEV-1 at level 4: it allocates memory of a device that it does not list.
#include "device.h"

static tenon_status allocate(tenon_backend* backend, tenon_dl_device device, uint64_t nbytes,
                             uint64_t alignment, void** out) {
  device.device_id = 0;
  return device_allocate(backend, device, nbytes, alignment, out);
}

#undef ZOO_DEVICE_ALLOCATE
#define ZOO_DEVICE_ALLOCATE allocate
#include "good_plugin.h"
