// SPDX-License-Identifier: MIT
//
// Status codes, messages and ids (TN-ERR, TN-IDN). README.md says how a section becomes a plugin.

#ifdef ZOO_identity_without_end
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
#endif

#include "good.h"

#ifdef ZOO_error_without_facts
// Breaks TN-ERR-2 at level 4: the error text of a failed run names no facts.
ZOO_EXECUTE_FUNCTION(execute) {
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  return status == TENON_STATUS_OK ? status : good_fail(backend->host, status, "failed");
}

#define ZOO_EXECUTE execute
#endif

#ifdef ZOO_negative_status
// Breaks TN-ERR-1 at level 4: a failed run returns -1.
ZOO_EXECUTE_FUNCTION(execute) {
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  return status == TENON_STATUS_OK ? status : (tenon_status)-1;
}

#define ZOO_EXECUTE execute
#endif

#ifdef ZOO_silent_failure
// Breaks TN-ERR-2 at level 4: a wrong number of arguments is refused without an error text.
#define ZOO_BEFORE_RUN \
  if (num_args != (delegate->model->operation == 0 ? 3 : 2)) return TENON_STATUS_INVALID_ARGUMENT
#endif

#ifdef ZOO_unknown_status
// Breaks TN-ERR-1 at level 4: a failed run returns an unlisted number.
ZOO_EXECUTE_FUNCTION(execute) {
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  return status == TENON_STATUS_OK ? status : 0x77;
}

#define ZOO_EXECUTE execute
#endif

#include "good_plugin.h"
