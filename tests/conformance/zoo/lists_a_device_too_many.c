// SPDX-License-Identifier: MIT
// Breaks TN-DEV-1 at level 4: it lists a device without memory.
#include "device.h"

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
#include "good_plugin.h"
