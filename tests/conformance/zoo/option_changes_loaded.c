// SPDX-License-Identifier: MIT
// Breaks TN-OPT-4 at level 5: `set_option` changes the delegates that are loaded, too.
#include "good.h"

static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                            const tenon_execution_context* context, tenon_value* const* args,
                            uint32_t num_args) {
  good_model model = *delegate->model;
  good_model* const loaded = delegate->model;
  model.bias = (float)atomic_load(&backend->bias);
  delegate->model = &model;
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  delegate->model = loaded;
  return status;
}

#define ZOO_EXECUTE execute
#include "good_plugin.h"
