// SPDX-License-Identifier: MIT
// Breaks nothing: it takes hints.
#include "good.h"

static tenon_status set_scheduling(tenon_backend* backend, tenon_delegate* delegate,
                                   const tenon_scheduling* scheduling) {
  (void)backend;
  (void)delegate;
  (void)scheduling;
  return TENON_STATUS_OK;
}

static const tenon_scheduling_v1 scheduling_table = {
    .struct_size = sizeof(tenon_scheduling_v1),
    .priority = "nothing that can be seen",
    .set_scheduling = set_scheduling,
};

#define ZOO_EXTENSIONS(id) \
  if (strcmp(id, TENON_EXTENSION_SCHEDULING) == 0) return &scheduling_table
#include "good_plugin.h"
