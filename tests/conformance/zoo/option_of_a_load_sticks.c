// SPDX-License-Identifier: MIT
// Breaks TN-OPT-3 at level 5: an option that is given for one load is set for all later ones.
#include "good.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  const tenon_status status = good_init(backend, context, out);
  const uint32_t count =
      ZOO_HAS(context, tenon_init_context, num_runtime_specs) ? context->num_runtime_specs : 0;
  if (status == TENON_STATUS_OK && count > 0) {
    atomic_store(&backend->bias, (long long)(*out)->model->bias);
  }
  return status;
}

#define ZOO_INIT init
#include "good_plugin.h"
