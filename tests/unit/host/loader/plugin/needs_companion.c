// SPDX-License-Identifier: MIT
// A plugin whose `execute` adds a number from the library next to it.
#define ZOO_EXECUTE call_companion
#include "tenon/abi/backend.h"

long tenon_test_companion(void);
static tenon_status call_companion(tenon_backend* backend, tenon_delegate* delegate,
                                   const tenon_execution_context* context, tenon_value* const* args,
                                   uint32_t num_args) {
  (void)backend, (void)delegate, (void)context, (void)num_args;
  args[0]->as.integer += tenon_test_companion();
  return TENON_STATUS_OK;
}
#include "plugins/zoo_plugin.h"
