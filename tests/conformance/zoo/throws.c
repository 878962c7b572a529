// SPDX-License-Identifier: MIT
// Breaks TN-BCK-1: `execute` throws a C++ exception.
#include "good.h"

/// Defined in throw.cpp.
extern void zoo_throw(void);

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  if (status == TENON_STATUS_OK) zoo_throw();
  return status;
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
