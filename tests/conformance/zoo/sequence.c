// SPDX-License-Identifier: MIT
//
// The state of delegates (TN-SEQ). README.md says how a section becomes a plugin.

#ifdef ZOO_good_sequence
// Breaks nothing: a host can read and write the state of its delegates.
#endif

#ifdef ZOO_lists_a_part_twice
// Breaks TN-SEQ-1 at level 5: two parts of a state have one name.
#define ZOO_STATE_PARTS(delegate)                        \
  {"runs", &(delegate)->runs, sizeof(delegate)->runs}, { \
    "runs", &(delegate)->runs, sizeof(delegate)->runs    \
  }
#endif

#ifdef ZOO_state_lacks_a_part
// Breaks TN-SEQ-2 at level 5: the number of runs, of which outputs depend, is in no part.
#define ZOO_STATE_PARTS(delegate) {"note", &(delegate)->note, sizeof(delegate)->note}
#endif

#ifdef ZOO_state_of_all_delegates
// Breaks TN-SEQ-4 at level 5: a part of the state belongs to all delegates.
#include "good.h"

static atomic_llong all_runs;

#define ZOO_STATE_PARTS(delegate) \
  {"runs", &(delegate)->runs, sizeof(delegate)->runs}, { "all runs", &all_runs, sizeof all_runs }
#define ZOO_BEFORE_RUN atomic_fetch_add(&all_runs, 1)
#endif

#ifdef ZOO_state_of_one_delegate
// Breaks TN-SEQ-3 at level 5: the state has a number that means something to one delegate alone.
#include "good.h"

typedef struct owner {
  int64_t in_state;
  int64_t own;
} owner;

ZOO_INIT_FUNCTION(init) {
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
#endif

#include "sequence.h"
