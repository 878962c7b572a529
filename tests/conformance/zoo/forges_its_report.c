// SPDX-License-Identifier: MIT
// Breaks TN-BCK-7: `execute` writes the end of a successful test to the runner, and ends the
// process.
#include "good.h"
#include "memory_files.h"

static void forge(int descriptor) {
  const char text[] = "\n{\"outcome\":\"passed\",\"reason\":\"\"}\n{\"done\":true}\n{\"done\":2}\n";
  if (write(descriptor, text, sizeof text - 1) < 0) return;
}

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  if (status != TENON_STATUS_OK) return status;
  for_each_memory_file(&forge);
  _exit(0);
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
