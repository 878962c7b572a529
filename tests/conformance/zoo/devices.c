// SPDX-License-Identifier: MIT
//
// Devices and their memory (TN-DEV). README.md says how a section becomes a plugin.

#include "device.h"

#ifdef ZOO_copies_too_little
// Breaks TN-DEV-8 at level 4: a copy to the device omits the last byte.
static tenon_status copy(tenon_backend* backend, tenon_dl_device device, void* to, const void* from,
                         uint64_t nbytes) {
  return device_copy(backend, device, to, from, nbytes > 0 ? nbytes - 1 : 0);
}

#undef ZOO_COPY_TO_DEVICE
#define ZOO_COPY_TO_DEVICE copy
#endif

#ifdef ZOO_copies_whole_words
// Breaks TN-DEV-9 at level 4: a copy from device to device ends with the last whole word.
static tenon_status copy(tenon_backend* backend, void* stream, tenon_dl_device to_device, void* to,
                         tenon_dl_device from_device, const void* from, uint64_t nbytes) {
  return device_copy_on(backend, stream, to_device, to, from_device, from, nbytes / 8 * 8);
}

#undef ZOO_COPY_ON
#define ZOO_COPY_ON copy
#endif

#ifdef ZOO_good_device
// Breaks nothing: a backend with a device that has memory.
#include "device.h"
#endif

#ifdef ZOO_ignores_alignment
// Breaks TN-DEV-5 at level 4: a block on the device does not have the alignment that the host
// requested.
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
#endif

#ifdef ZOO_lists_a_device_too_many
// Breaks TN-DEV-1 at level 4: it lists a device without memory.
static tenon_status list(tenon_backend* backend, tenon_device_sink sink, void* context) {
  const tenon_device_info second = {
      .struct_size = sizeof second,
      .device = {zoo_device_type, 1},
      .name = "cage 1",
      .description = "Locked",
  };
  const tenon_status status = device_list(backend, sink, context);
  if (status == TENON_STATUS_OK) sink(context, &second);
  return status;
}

#undef ZOO_LIST_DEVICES
#define ZOO_LIST_DEVICES list
#endif

#ifdef ZOO_serves_unlisted_device
// Breaks TN-DEV-1 at level 4: it allocates memory of a device that it does not list.
static tenon_status allocate(tenon_backend* backend, tenon_dl_device device, uint64_t nbytes,
                             uint64_t alignment, void** out) {
  device.device_id = 0;
  return device_allocate(backend, device, nbytes, alignment, out);
}

#undef ZOO_DEVICE_ALLOCATE
#define ZOO_DEVICE_ALLOCATE allocate
#endif

#include "good_plugin.h"
