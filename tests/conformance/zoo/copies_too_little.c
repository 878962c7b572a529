// SPDX-License-Identifier: MIT
// Breaks TN-DEV-8 at level 4: a copy to the device omits the last byte.
#include "device.h"

static tenon_status copy(tenon_backend* backend, tenon_dl_device device, void* to, const void* from,
                         uint64_t nbytes) {
  return device_copy(backend, device, to, from, nbytes > 0 ? nbytes - 1 : 0);
}

#undef ZOO_COPY_TO_DEVICE
#define ZOO_COPY_TO_DEVICE copy
#include "good_plugin.h"
