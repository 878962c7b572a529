// SPDX-License-Identifier: MIT
// Breaks TN-PRC-5: `execute` writes lines to the runner that are JSON, but of other types.
#include "good.h"
#include "memory_files.h"

static void confuse(int descriptor) {
  const char text[] =
      "\n{\"finding\":1}\n{\"measurement\":[]}\n{\"outcome\":{}}\n[[[\n!crash\n!frame\n";
  if (write(descriptor, text, sizeof text - 1) < 0) return;
}

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  for_each_memory_file(&confuse);
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
