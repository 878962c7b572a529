// SPDX-License-Identifier: MIT
// Breaks TN-IDN-1 at level 4: the identity of its device has no terminator.
#include "device.h"

static tenon_status list(tenon_backend* backend, tenon_device_sink sink, void* context) {
  (void)backend;
  tenon_device_info info = {
      .struct_size = sizeof info,
      .device = {zoo_device_type, 0},
      .name = "cage 0",
      .description = "Memory of the host",
  };
  memset(info.identity, 'z', sizeof info.identity);
  sink(context, &info);
  return TENON_STATUS_OK;
}

#undef ZOO_LIST_DEVICES
#define ZOO_LIST_DEVICES list
#include "good_plugin.h"
