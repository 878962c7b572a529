// SPDX-License-Identifier: MIT
// Breaks TN-DEV-9 at level 4: a copy from device to device ends with the last whole word.
#include "device.h"

static tenon_status copy(tenon_backend* backend, void* stream, tenon_dl_device to_device, void* to,
                         tenon_dl_device from_device, const void* from, uint64_t nbytes) {
  return device_copy_on(backend, stream, to_device, to, from_device, from, nbytes / 8 * 8);
}

#undef ZOO_COPY_ON
#define ZOO_COPY_ON copy
#include "good_plugin.h"
