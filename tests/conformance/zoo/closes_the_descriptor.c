// SPDX-License-Identifier: MIT
// Breaks TN-EXM-3 at level 5: the descriptor of the caller is closed.
// Only on Linux.
#include "external.h"

static tenon_status import(tenon_backend* backend, const tenon_external_memory* memory,
                           tenon_imported_memory** out, void** address) {
  const tenon_status status = zoo_import(backend, memory, out, address);
  if (status == TENON_STATUS_OK) close((int)memory->descriptor);
  return status;
}

#undef ZOO_IMPORT
#define ZOO_IMPORT import
#include "good_plugin.h"
