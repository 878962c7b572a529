// SPDX-License-Identifier: MIT
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
