// SPDX-License-Identifier: MIT
// Breaks TN-EXE-9 at level 6: each run opens a descriptor that stays open until `destroy`.
#include <unistd.h>
#include "good.h"

typedef struct descriptor {
  struct descriptor* next;
  int number;
} descriptor;

static void before_run(tenon_delegate* delegate) {
  descriptor* const kept = (descriptor*)malloc(sizeof *kept);
  if (kept) {
    *kept = (descriptor){(descriptor*)delegate->note, dup(0)};
    delegate->note = kept;
  }
}

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  while (delegate && delegate->note) {
    descriptor* const kept = (descriptor*)delegate->note;
    delegate->note = kept->next;
    if (kept->number >= 0) close(kept->number);
    free(kept);
  }
  good_destroy(backend, delegate);
}

#define ZOO_BEFORE_RUN before_run(delegate)
#define ZOO_DESTROY destroy
#include "good_plugin.h"
