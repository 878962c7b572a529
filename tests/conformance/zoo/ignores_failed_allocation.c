// SPDX-License-Identifier: MIT
// Breaks TN-INI-6 at level 8: `init` uses memory of its own when an allocation of the host fails.
#define ZOO_ALLOCATE(allocator, nbytes, alignment) \
  allocate_here_or_there((allocator), (nbytes), (alignment))
#include "tenon/abi/tenon.h"

static inline void* allocate_here_or_there(tenon_allocator* allocator, uint64_t nbytes,
                                           uint64_t alignment) {
  static uint64_t own[8];
  void* const block = allocator->allocate(allocator, nbytes, alignment);
  return block || nbytes > sizeof own ? block : own;
}

#include "good_plugin.h"
