// SPDX-License-Identifier: MIT
// Breaks TN-BCK-7: `execute` stops the process that started this one.
#include <signal.h>
#include <unistd.h>

#include "good.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  kill(getppid(), SIGSTOP);
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
