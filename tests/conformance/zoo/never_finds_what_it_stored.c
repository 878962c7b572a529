// SPDX-License-Identifier: MIT
// Breaks TN-PRP-4 at level 5: each load has an identity of its own.
#include "prepare.h"

static atomic_int number;

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  const int identity = atomic_fetch_add(&number, 1);
  tenon_status opened = TENON_STATUS_OK;
  tenon_prepared* const prepared =
      prepare_open(context, (const char*)&identity, sizeof identity, &opened);
  if (prepared) {
    (void)prepare_store(prepared);
    prepared->release(prepared);
  }
  return good_init(backend, context, out);
}

#define ZOO_INIT init
#include "good_plugin.h"
