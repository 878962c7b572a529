// SPDX-License-Identifier: MIT
// Breaks TN-AOT-4 at level 5: what it compiles an addition to adds one more.
#define ZOO_COMPILED_VERSION 7
#define ZOO_KNOWS_VERSION(version) ((version) == 1 || (version) == 7)
#include "good_compiler.h"

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  const tenon_status status = good_init(backend, context, out);
  if (status == TENON_STATUS_OK && (*out)->model->version == 7) (*out)->model->bias += 1.0f;
  return status;
}

#define ZOO_INIT init
#include "good_plugin.h"
