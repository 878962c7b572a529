// SPDX-License-Identifier: MIT
// Breaks TN-PRC-5: `execute` truncates the files by which the process reports to the runner.
#include "good.h"
#include "memory_files.h"

static void empty(int descriptor) {
  if (ftruncate(descriptor, 0) != 0) return;  // One of them is sealed.
}

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  for_each_memory_file(&empty);
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
