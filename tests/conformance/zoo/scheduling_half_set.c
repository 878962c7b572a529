// SPDX-License-Identifier: MIT
// Breaks TN-SCH-3 at level 5: `set_scheduling` fails after it has changed the delegate.
#include "good.h"

static tenon_status set_scheduling(tenon_backend* backend, tenon_delegate* delegate,
                                   const tenon_scheduling* scheduling) {
  if (scheduling->priority != TENON_PRIORITY_HIGH) return TENON_STATUS_OK;
  delegate->model->bias += 1.0f;
  return good_fail(backend->host, TENON_STATUS_NOT_SUPPORTED, "set_scheduling: not that high");
}

#define ZOO_SET_SCHEDULING set_scheduling
#include "scheduling.h"

#include "good_plugin.h"
