// SPDX-License-Identifier: MIT
//
// Runs that can be cancelled, for plugins of the zoo. What a plugin may replace before it includes
// this: whether the run of `context` was cancelled, and the number with which such a run fails.

#ifndef TENON_ZOO_CANCEL_H
#define TENON_ZOO_CANCEL_H

#include "good.h"

#ifndef ZOO_IS_CANCELLED
#define ZOO_IS_CANCELLED(context) good_is_cancelled(context)
#endif
#ifndef ZOO_CANCELLED
#define ZOO_CANCELLED TENON_STATUS_CANCELLED
#endif

static tenon_status cancel_execute(tenon_backend* backend, tenon_delegate* delegate,
                                   const tenon_execution_context* context, tenon_value* const* args,
                                   uint32_t num_args) {
  if (ZOO_IS_CANCELLED(context)) {
    return good_fail(backend->host, ZOO_CANCELLED, "execute: the run was cancelled");
  }
  return good_execute(backend, delegate, context, args, num_args);
}
#define ZOO_EXECUTE cancel_execute

/// The extension of a plugin that defines ZOO_CANCEL.
#ifdef ZOO_CANCEL
static const tenon_cancel_v1 cancelling = {
    .struct_size = sizeof(tenon_cancel_v1),
    .cancel = ZOO_CANCEL,
};
#define ZOO_EXTENSIONS(id) \
  if (strcmp(id, TENON_EXTENSION_CANCEL) == 0) return &cancelling
#endif

#endif  // TENON_ZOO_CANCEL_H
