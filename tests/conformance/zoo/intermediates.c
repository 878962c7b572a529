// SPDX-License-Identifier: MIT
//
// Intermediates (TN-INT). README.md says how a section becomes a plugin.

#ifdef ZOO_changes_when_recorded
// Breaks TN-INT-4 at level 5: a run whose intermediate results are given has another output.
#include "good.h"

static inline void change(const tenon_tensor* output) {
  if (output) *good_data(output) += 1.0f;
}
#define ZOO_AFTER_GIVING(output) change(output)
#include "good_intermediates.h"
#endif

#ifdef ZOO_gives_the_run_before
// Breaks TN-INT-3 at level 5: an intermediate result comes from the run before.
#include "good.h"

struct zoo_asked;
static void give_before(struct zoo_asked* asked, float* elements, uint64_t nbytes);
#define ZOO_BEFORE_GIVING(delegate, asked, elements, nbytes) give_before(asked, elements, nbytes)
#include "good_intermediates.h"

/// Exchanges the elements for the elements of the run before, or for zeros in the first run.
static void give_before(zoo_asked* asked, float* elements, uint64_t nbytes) {
  float* const now = (float*)malloc(nbytes + 1);
  if (!now) return;
  memcpy(now, elements, nbytes);
  const int has_before = asked->kept && asked->kept_bytes == nbytes;
  if (has_before) {
    memcpy(elements, asked->kept, nbytes);
  } else {
    memset(elements, 0, nbytes);
  }
  free(asked->kept);
  asked->kept = now;
  asked->kept_bytes = nbytes;
}
#endif

#ifdef ZOO_intermediate_of_another_shape
// Breaks TN-INT-2 at level 5: the sizes of an intermediate result do not match its bytes.
#define ZOO_LAST_SIZE(size) ((size) + 1)
#include "good_intermediates.h"
#endif

#ifdef ZOO_lists_an_intermediate_twice
// Breaks TN-INT-1 at level 5: one handle is listed twice.
#define ZOO_NAMES {0, 1, 0}
#include "good_intermediates.h"
#endif

#ifdef ZOO_records_unknown_handles
// Breaks TN-INT-5 at level 5: a handle that is not listed is accepted.
#define ZOO_KNOWS_HANDLE(handle) ((handle) >= 0)
#include "good_intermediates.h"
#endif

#include "good_intermediates.h"

#ifdef ZOO_good_intermediates
// Breaks nothing: it gives its intermediate results.
#include "good_intermediates.h"
#endif

#include "good_plugin.h"
