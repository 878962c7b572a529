// SPDX-License-Identifier: MIT
//
// Prepared blobs (TN-PRP). README.md says how a section becomes a plugin.

#include "prepare.h"

#ifdef ZOO_differs_when_prepared
// Breaks TN-PRP-1 at level 5: a load that finds what was kept computes something else.
ZOO_INIT_FUNCTION(init) {
  tenon_status opened = TENON_STATUS_OK;
  tenon_prepared* const prepared = prepare_open(context, "1", 1, &opened);
  const tenon_status status = good_init(backend, context, out);
  if (!prepared) return status;
  if (prepare_is_found(prepared)) {
    if (status == TENON_STATUS_OK) (*out)->model->added += 1.0f;
  } else {
    (void)prepare_store(prepared);
  }
  prepared->release(prepared);
  return status;
}

#define ZOO_INIT init
#endif

#ifdef ZOO_good_prepare
// Breaks nothing: it keeps what it prepared until `destroy`, and finds it in the next load.
ZOO_INIT_FUNCTION(init) {
  tenon_status opened = TENON_STATUS_OK;
  tenon_prepared* const prepared = prepare_open(context, "1", 1, &opened);
  const tenon_status status = good_init(backend, context, out);
  if (!prepared) return status;
  if (status != TENON_STATUS_OK) {
    prepared->release(prepared);
    return status;
  }
  if (!prepare_is_found(prepared)) (void)prepare_store(prepared);
  (*out)->note = prepared;
  return status;
}

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  if (delegate && delegate->note) {
    tenon_prepared* const prepared = (tenon_prepared*)delegate->note;
    prepared->release(prepared);
  }
  good_destroy(backend, delegate);
}

#define ZOO_INIT init
#define ZOO_DESTROY destroy
#endif

#ifdef ZOO_keeps_prepared
// Breaks TN-PRP-2 at level 5: what it opened is never released.
ZOO_INIT_FUNCTION(init) {
  tenon_status opened = TENON_STATUS_OK;
  tenon_prepared* const prepared = prepare_open(context, "1", 1, &opened);
  if (prepared && !prepare_is_found(prepared)) (void)prepare_store(prepared);
  return good_init(backend, context, out);
}

#define ZOO_INIT init
#endif

#ifdef ZOO_needs_a_store
// Breaks TN-PRP-3 at level 5: it does not load when what it prepared cannot be kept.
ZOO_INIT_FUNCTION(init) {
  tenon_status status = TENON_STATUS_OK;
  tenon_prepared* const prepared = prepare_open(context, "1", 1, &status);
  if (prepared) {
    if (!prepare_is_found(prepared)) status = prepare_store(prepared);
    prepared->release(prepared);
  }
  if (status != TENON_STATUS_OK && status != TENON_STATUS_NOT_SUPPORTED) {
    return good_fail(backend->host, status, "init: what was prepared cannot be kept");
  }
  return good_init(backend, context, out);
}

#define ZOO_INIT init
#endif

#ifdef ZOO_never_finds_what_it_stored
// Breaks TN-PRP-4 at level 5: each load has an identity of its own.
static atomic_int number;

ZOO_INIT_FUNCTION(init) {
  const int identity = atomic_fetch_add(&number, 1);
  tenon_status opened = TENON_STATUS_OK;
  tenon_prepared* const prepared =
      prepare_open(context, (const char*)&identity, sizeof identity, &opened);
  if (prepared) prepare_and_release(prepared);
  return good_init(backend, context, out);
}

#define ZOO_INIT init
#endif

#ifdef ZOO_stores_what_it_found
// Breaks TN-PRP-4 at level 5: it prepares and stores again what it found.
ZOO_INIT_FUNCTION(init) {
  tenon_status opened = TENON_STATUS_OK;
  tenon_prepared* const prepared = prepare_open(context, "1", 1, &opened);
  if (prepared) prepare_and_release(prepared);
  return good_init(backend, context, out);
}

#define ZOO_INIT init
#endif

#include "good_plugin.h"
