// SPDX-License-Identifier: MIT
// Breaks TN-SCH-1 at level 5: `init` fails for a priority that it does not know.
#include "scheduling.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  const tenon_scheduling* const scheduling = scheduling_of(context);
  if (scheduling && scheduling->priority > TENON_PRIORITY_HIGH) {
    return good_fail(backend->host, TENON_STATUS_INVALID_ARGUMENT, "init: no priority %u",
                     scheduling->priority);
  }
  return good_init(backend, context, out);
}

#define ZOO_INIT init
#include "good_plugin.h"
