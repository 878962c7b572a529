// SPDX-License-Identifier: MIT
//
// Scheduling hints (TN-SCH). README.md says how a section becomes a plugin.

#ifdef ZOO_scheduling_half_set
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
#endif

#include "scheduling.h"

#ifdef ZOO_good_scheduling
// Breaks nothing: it takes hints.
#include "scheduling.h"
#endif

#ifdef ZOO_less_with_low_power
// Breaks TN-SCH-2 at level 5: with little power it computes something else.
ZOO_INIT_FUNCTION(init) {
  const tenon_scheduling* const scheduling = scheduling_of(context);
  const tenon_status status = good_init(backend, context, out);
  if (status == TENON_STATUS_OK && scheduling && scheduling->power == TENON_POWER_LOW) {
    (*out)->model->bias += 1.0f;
  }
  return status;
}

#define ZOO_INIT init
#endif

#ifdef ZOO_refuses_a_priority
// Breaks TN-SCH-1 at level 5: `init` fails for a priority that it does not know.
ZOO_INIT_FUNCTION(init) {
  const tenon_scheduling* const scheduling = scheduling_of(context);
  if (scheduling && scheduling->priority > TENON_PRIORITY_HIGH) {
    return good_fail(backend->host, TENON_STATUS_INVALID_ARGUMENT, "init: no priority %u",
                     scheduling->priority);
  }
  return good_init(backend, context, out);
}

#define ZOO_INIT init
#endif

#include "good_plugin.h"
