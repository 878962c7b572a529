// SPDX-License-Identifier: MIT
//
// Hints for scheduling, for plugins of the zoo. A plugin whose hints change something defines
// ZOO_SET_SCHEDULING before it includes this.

#ifndef TENON_ZOO_SCHEDULING_H
#define TENON_ZOO_SCHEDULING_H

#include "good.h"

#ifndef ZOO_SET_SCHEDULING
#define ZOO_SET_SCHEDULING take_any_hint
static tenon_status take_any_hint(tenon_backend* backend, tenon_delegate* delegate,
                                  const tenon_scheduling* scheduling) {
  (void)backend;
  (void)delegate;
  (void)scheduling;
  return TENON_STATUS_OK;
}

#endif

static const tenon_scheduling_v1 scheduling_table = {
    .struct_size = sizeof(tenon_scheduling_v1),
    .priority = "nothing that can be seen",
    .set_scheduling = ZOO_SET_SCHEDULING,
};

/// The hints of `init`, or NULL.
static inline const tenon_scheduling* scheduling_of(const tenon_init_context* context) {
  return ZOO_HAS(context, tenon_init_context, scheduling) ? context->scheduling : NULL;
}

#define ZOO_EXTENSIONS(id) \
  if (strcmp(id, TENON_EXTENSION_SCHEDULING) == 0) return &scheduling_table

#endif  // TENON_ZOO_SCHEDULING_H
