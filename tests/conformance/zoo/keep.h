// SPDX-License-Identifier: MIT
//
// Memory that a plugin of the zoo keeps longer than it may.

#ifndef TENON_ZOO_KEEP_H
#define TENON_ZOO_KEEP_H

#include <stdlib.h>
#include <string.h>

#include "good.h"

/// Large enough to be seen in the size of the process.
enum { kept_nbytes = 64 << 10 };

/// Allocates another block; `list` is the last one.
static inline void keep_memory(void** list) {
  void** const block = (void**)malloc(kept_nbytes);
  if (!block) return;
  memset(block, 1, kept_nbytes);
  *block = *list;
  *list = block;
}

/// Frees all blocks of `list`.
static inline void free_kept(void** list) {
  while (*list) {
    void** const block = (void**)*list;
    *list = *block;
    free(block);
  }
}

/// In place of `good_close`: frees what the backend kept.
static inline void keep_close(tenon_backend* backend) {
  free_kept(&backend->note);
  good_close(backend);
}

#endif  // TENON_ZOO_KEEP_H
