// SPDX-License-Identifier: MIT
// Breaks TN-SCH-2 at level 5: with little power it computes something else.
#include "scheduling.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  const tenon_scheduling* const scheduling = scheduling_of(context);
  const tenon_status status = good_init(backend, context, out);
  if (status == TENON_STATUS_OK && scheduling && scheduling->power == TENON_POWER_LOW) {
    (*out)->model->bias += 1.0f;
  }
  return status;
}

#define ZOO_INIT init
#include "good_plugin.h"
