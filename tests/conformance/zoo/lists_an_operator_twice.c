// SPDX-License-Identifier: MIT
// Breaks TN-KRN-6 at level 5: one operator is listed twice.
#include "kernels.h"

static tenon_status list(tenon_backend* backend, tenon_operator_sink sink, void* context) {
  sink(context, kernels_names[0]);
  return kernels_list(backend, sink, context);
}

#undef ZOO_LIST_OPERATORS
#define ZOO_LIST_OPERATORS list
#include "good_plugin.h"
