// SPDX-License-Identifier: MIT
// Breaks TN-SCH-3 at level 5: `set_scheduling` fails after it has changed the delegate.
#include "good.h"

static tenon_status set_scheduling(tenon_backend* backend, tenon_delegate* delegate,
                                   const tenon_scheduling* scheduling) {
  if (scheduling->priority != TENON_PRIORITY_HIGH) return TENON_STATUS_OK;
  delegate->model->bias += 1.0f;
  return good_fail(backend->host, TENON_STATUS_NOT_SUPPORTED, "set_scheduling: not that high");
}

static const tenon_scheduling_v1 scheduling_table = {
    .struct_size = sizeof(tenon_scheduling_v1),
    .priority = "nothing that can be seen",
    .set_scheduling = set_scheduling,
};

#define ZOO_EXTENSIONS(id) \
  if (strcmp(id, TENON_EXTENSION_SCHEDULING) == 0) return &scheduling_table
#include "good_plugin.h"
