// SPDX-License-Identifier: MIT
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
#include "good_plugin.h"
