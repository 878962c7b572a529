// SPDX-License-Identifier: MIT
// Breaks TN-SCH-2 at level 5: with little power it computes something else.
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

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  const tenon_scheduling* const scheduling =
      ZOO_HAS(context, tenon_init_context, scheduling) ? context->scheduling : NULL;
  const tenon_status status = good_init(backend, context, out);
  if (status == TENON_STATUS_OK && scheduling && scheduling->power == TENON_POWER_LOW) {
    (*out)->model->bias += 1.0f;
  }
  return status;
}

#define ZOO_INIT init
#include "good_plugin.h"
