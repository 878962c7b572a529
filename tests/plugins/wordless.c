// SPDX-License-Identifier: MIT
// Breaks TN-ERR-1 and TN-ERR-2: fails with a number that is no status, and gives no reason.
#define ZOO_EXECUTE fail_without_a_word
#include "tenon/abi/backend.h"

static tenon_status fail_without_a_word(tenon_backend* backend, tenon_delegate* delegate,
                                        const tenon_execution_context* context,
                                        tenon_value* const* args, uint32_t num_args) {
  (void)backend, (void)delegate, (void)context, (void)args;
  return num_args == 0 ? TENON_STATUS_NOT_FOUND : 0x999;
}
#include "zoo_plugin.h"
