// SPDX-License-Identifier: MIT
//
// The good backend with a device of its own, number 0 of DLPack's kind for extensions (kDLExtDev),
// whose memory is the host's.

#ifndef TENON_ZOO_DEVICE_H
#define TENON_ZOO_DEVICE_H

#include "tenon/abi/tensor.h"

enum { zoo_device_type = 12 };

#ifndef ZOO_IDENTITY
#define ZOO_IDENTITY "zoo:0"
#endif

static inline int is_zoo_device(tenon_dl_device device) {
  return device.device_type == zoo_device_type && device.device_id == 0;
}

#ifndef ZOO_IS_DEVICE
#define ZOO_IS_DEVICE(device) ((device).device_type == TENON_DL_CPU || is_zoo_device(device))
#endif
#include "good.h"

static inline tenon_status device_list(tenon_backend* backend, tenon_device_sink sink,
                                       void* context) {
  (void)backend;
  const tenon_device_info info = {
      .struct_size = sizeof info,
      .device = {zoo_device_type, 0},
      .name = "cage 0",
      .description = "Memory of the host",
      .identity = ZOO_IDENTITY,
  };
  sink(context, &info);
  return TENON_STATUS_OK;
}

static inline tenon_status device_check(tenon_backend* backend, tenon_dl_device device) {
  if (is_zoo_device(device)) return TENON_STATUS_OK;
  return good_fail(backend->host, TENON_STATUS_INVALID_ARGUMENT,
                   "device: expected type 12 and number 0, found type %d and number %d",
                   device.device_type, device.device_id);
}

static inline tenon_status device_allocate(tenon_backend* backend, tenon_dl_device device,
                                           uint64_t nbytes, uint64_t alignment, void** out) {
  const tenon_status status = device_check(backend, device);
  if (status != TENON_STATUS_OK) return status;
  const size_t least = alignment < sizeof(void*) ? sizeof(void*) : (size_t)alignment;
  *out = NULL;
  if (nbytes <= SIZE_MAX / 2 && posix_memalign(out, least, (size_t)nbytes) == 0) {
    return TENON_STATUS_OK;
  }
  return good_fail(backend->host, TENON_STATUS_MEMORY_ALLOCATION_FAILED,
                   "device: expected %llu bytes of memory, found none", (unsigned long long)nbytes);
}

static inline void device_free(tenon_backend* backend, tenon_dl_device device, void* block) {
  (void)backend;
  if (is_zoo_device(device)) free(block);
}

static inline tenon_status device_copy(tenon_backend* backend, tenon_dl_device device, void* to,
                                       const void* from, uint64_t nbytes) {
  const tenon_status status = device_check(backend, device);
  if (status == TENON_STATUS_OK && nbytes > 0) memcpy(to, from, (size_t)nbytes);
  return status;
}

static inline tenon_status device_copy_on(tenon_backend* backend, void* stream,
                                          tenon_dl_device to_device, void* to,
                                          tenon_dl_device from_device, const void* from,
                                          uint64_t nbytes) {
  tenon_status status = device_check(backend, to_device);
  if (status == TENON_STATUS_OK) status = device_check(backend, from_device);
  if (status == TENON_STATUS_OK && stream) {
    return good_fail(backend->host, TENON_STATUS_NOT_SUPPORTED,
                     "copy_on: expected no stream, found one");
  }
  if (status == TENON_STATUS_OK && nbytes > 0) memcpy(to, from, (size_t)nbytes);
  return status;
}

#ifndef ZOO_LIST_DEVICES
#define ZOO_LIST_DEVICES device_list
#endif
#ifndef ZOO_DEVICE_ALLOCATE
#define ZOO_DEVICE_ALLOCATE device_allocate
#endif
#ifndef ZOO_DEVICE_FREE
#define ZOO_DEVICE_FREE device_free
#endif
#ifndef ZOO_COPY_TO_DEVICE
#define ZOO_COPY_TO_DEVICE device_copy
#endif
#ifndef ZOO_COPY_ON
#define ZOO_COPY_ON device_copy_on
#endif
#define ZOO_EXTENSIONS(id)                                                              \
  do {                                                                                  \
    static const tenon_devices_v1 devices = {sizeof devices, 0, ZOO_LIST_DEVICES};      \
    static const tenon_device_memory_v1 memory = {.struct_size = sizeof memory,         \
                                                  .allocate = ZOO_DEVICE_ALLOCATE,      \
                                                  .free = ZOO_DEVICE_FREE,              \
                                                  .copy_to_device = ZOO_COPY_TO_DEVICE, \
                                                  .copy_to_host = device_copy,          \
                                                  .copy_on = ZOO_COPY_ON};              \
    if (strcmp(id, TENON_EXTENSION_DEVICES) == 0) return &devices;                      \
    if (strcmp(id, TENON_EXTENSION_DEVICE_MEMORY) == 0) return &memory;                 \
  } while (0)

#endif  // TENON_ZOO_DEVICE_H
