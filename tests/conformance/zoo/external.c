// SPDX-License-Identifier: MIT
//
// External memory and fences (TN-EXM). README.md says how a section becomes a plugin.

#ifdef ZOO_copies_on_import
// Breaks TN-EXM-4 at level 5: the bytes are copied when memory is imported.
// Only on Linux.
#define ZOO_MAPPING MAP_PRIVATE
#define ZOO_PROTECTION(memory) (PROT_READ | PROT_WRITE)
#include "external.h"

static tenon_status import(tenon_backend* backend, const tenon_external_memory* memory,
                           tenon_imported_memory** out, void** address) {
  const tenon_status status = zoo_import(backend, memory, out, address);
  if (status != TENON_STATUS_OK) return status;
  // A write to each page gives this process its own one.
  volatile char* const bytes = (volatile char*)(*out)->begin;
  for (size_t i = 0; i < (*out)->size; i += 4096) bytes[i] = bytes[i];
  if ((memory->access & TENON_EXTERNAL_WRITE) == 0)
    mprotect((*out)->begin, (*out)->size, PROT_READ);
  return status;
}

#undef ZOO_IMPORT
#define ZOO_IMPORT import
#endif

#ifdef ZOO_imports_past_the_end
// Breaks TN-EXM-2 at level 5: a range is imported that the file does not have.
// Only on Linux.
#define ZOO_HAS_RANGE(memory) ((memory)->nbytes > 0 && (memory)->offset < (UINT64_C(1) << 40))
#include "external.h"
#endif

#ifdef ZOO_maps_for_writing
// Breaks TN-EXM-5 at level 5: memory that is only to be read can be written.
// Only on Linux.
#define ZOO_PROTECTION(memory) (PROT_READ | PROT_WRITE)
#include "external.h"
#endif

#ifdef ZOO_unknown_memory_is_invalid
// Breaks TN-EXM-1 at level 5: memory of a kind that it does not list is an invalid argument.
// Only on Linux.
#define ZOO_UNKNOWN_KIND TENON_STATUS_INVALID_ARGUMENT
#include "external.h"
#endif

#include "external.h"

#ifdef ZOO_closes_the_descriptor
// Breaks TN-EXM-3 at level 5: the descriptor of the caller is closed.
// Only on Linux.
static tenon_status import(tenon_backend* backend, const tenon_external_memory* memory,
                           tenon_imported_memory** out, void** address) {
  const tenon_status status = zoo_import(backend, memory, out, address);
  if (status == TENON_STATUS_OK) close((int)memory->descriptor);
  return status;
}

#undef ZOO_IMPORT
#define ZOO_IMPORT import
#endif

#ifdef ZOO_good_external
// Breaks nothing: it imports files in memory, and knows fences.
// Only on Linux.
#include "external.h"
#endif

#ifdef ZOO_ignores_a_fence
// Breaks TN-EXM-7 at level 5: runs begin before the fence that they are to wait for.
// Only on Linux.
static tenon_status wait_fence(tenon_backend* backend, tenon_delegate* delegate,
                               const tenon_external_fence* fence) {
  (void)delegate;
  return zoo_check_fence(backend, fence);
}

#undef ZOO_WAIT_FENCE
#define ZOO_WAIT_FENCE wait_fence
#endif

#ifdef ZOO_keeps_imported_memory
// Breaks TN-EXM-3 at level 5: released memory stays mapped.
// Only on Linux.
static void release(tenon_backend* backend, tenon_imported_memory* memory) {
  (void)backend;
  free(memory);
}

#undef ZOO_RELEASE
#define ZOO_RELEASE release
#endif

#ifdef ZOO_never_signals
// Breaks TN-EXM-8 at level 5: the fence after a run is never signalled.
// Only on Linux.
static tenon_status signal_fence(tenon_backend* backend, tenon_delegate* delegate,
                                 const tenon_external_fence* fence) {
  (void)delegate;
  return zoo_check_fence(backend, fence);
}

#undef ZOO_SIGNAL_FENCE
#define ZOO_SIGNAL_FENCE signal_fence
#endif

#include "good_plugin.h"
