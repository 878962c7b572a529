// SPDX-License-Identifier: MIT
// Breaks TN-PRC-2: `execute` leaves signals blocked.
#include <signal.h>
#include "good.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &signals, NULL);
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
