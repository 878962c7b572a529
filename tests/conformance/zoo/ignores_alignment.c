// SPDX-License-Identifier: MIT
// Breaks TN-DEV-5 at level 4: a block on the device does not have the alignment that the host
// requested.
#include "device.h"

static tenon_status allocate(tenon_backend* backend, tenon_dl_device device, uint64_t nbytes,
                             uint64_t alignment, void** out) {
  const tenon_status status = device_allocate(
      backend, device, nbytes > UINT64_MAX - 8 ? nbytes : nbytes + 8, alignment, out);
  if (status == TENON_STATUS_OK && alignment > 8) *out = (char*)*out + 8;
  return status;
}

static void free_shifted(tenon_backend* backend, tenon_dl_device device, void* block) {
  // The C library's blocks are multiples of 16.
  device_free(backend, device, (char*)block - (uintptr_t)block % 16);
}

#undef ZOO_DEVICE_FREE
#define ZOO_DEVICE_FREE free_shifted
#undef ZOO_DEVICE_ALLOCATE
#define ZOO_DEVICE_ALLOCATE allocate
#include "good_plugin.h"
