// SPDX-License-Identifier: MIT
// Calls an undefined function: the record of the file is valid, but it cannot be loaded.
#define ZOO_EXECUTE call_nobody
#include "tenon/abi/backend.h"

tenon_status tenon_test_defined_by_nobody(void);
static tenon_status call_nobody(tenon_backend* backend, tenon_delegate* delegate,
                                const tenon_execution_context* context, tenon_value* const* args,
                                uint32_t num_args) {
  (void)backend, (void)delegate, (void)context, (void)args, (void)num_args;
  return tenon_test_defined_by_nobody();
}
#include "zoo_plugin.h"
