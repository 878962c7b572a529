// SPDX-License-Identifier: MIT
// Breaks TN-SEQ-3 at level 5: the state has a number that means something to one delegate alone.
#include "good.h"

typedef struct owner {
  int64_t in_state;
  int64_t own;
} owner;

static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                         tenon_delegate** out) {
  static atomic_llong next = 1;
  const tenon_status status = good_init(backend, context, out);
  if (status != TENON_STATUS_OK) return status;
  owner* const made = (owner*)malloc(sizeof *made);
  if (!made) {
    good_destroy(backend, *out);
    return good_fail(backend->host, TENON_STATUS_MEMORY_ALLOCATION_FAILED,
                     "init: expected %zu bytes of memory, found none", sizeof *made);
  }
  made->own = atomic_fetch_add(&next, 1);
  made->in_state = made->own;
  (*out)->note = made;
  return TENON_STATUS_OK;
}

static tenon_status create_session(tenon_backend* backend, tenon_delegate* delegate,
                                   const tenon_session_context* context, tenon_delegate** out) {
  const tenon_status status = good_create_session(backend, delegate, context, out);
  if (status == TENON_STATUS_OK) (*out)->note = NULL;
  return status;
}

static void before_run(tenon_delegate* delegate) {
  const owner* const of = (const owner*)delegate->note;
  if (of && of->in_state != of->own) ++delegate->runs;
}

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  if (delegate) free(delegate->note);
  good_destroy(backend, delegate);
}

static int64_t nothing;

#define ZOO_STATE_PARTS(delegate)                                                               \
  {"runs", &(delegate)->runs, sizeof(delegate)->runs}, {                                        \
    "owner", (delegate)->note ? (void*)&((owner*)(delegate)->note)->in_state : (void*)&nothing, \
        sizeof nothing                                                                          \
  }
#define ZOO_INIT init
#define ZOO_CREATE_SESSION create_session
#define ZOO_BEFORE_RUN before_run(delegate)
#define ZOO_DESTROY destroy
#include "sequence.h"
