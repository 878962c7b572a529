// SPDX-License-Identifier: MIT
//
// The good backend whose state, the number of its runs, a host can read and write. A plugin of the
// zoo includes this in place of good.h, and replaces what it breaks.

#ifndef TENON_ZOO_SEQUENCE_H
#define TENON_ZOO_SEQUENCE_H

#include "good.h"

/// The parts: their names, and where they are.
#ifndef ZOO_STATE_PARTS
#define ZOO_STATE_PARTS(delegate) {"runs", &(delegate)->runs, sizeof(delegate)->runs}
#endif

static tenon_status zoo_list(tenon_backend* backend, tenon_delegate* delegate,
                             const tenon_state_list* to) {
  (void)backend;
  const struct {
    const char* name;
    void* data;
    size_t nbytes;
  } parts[] = {ZOO_STATE_PARTS(delegate)};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; ++i) {
    const tenon_state_part part = {.struct_size = sizeof part,
                                   .name = parts[i].name,
                                   .name_size = strlen(parts[i].name),
                                   .data = parts[i].data,
                                   .nbytes = parts[i].nbytes};
    const tenon_status status = to->add(to, &part);
    if (status != TENON_STATUS_OK) return status;
  }
  return TENON_STATUS_OK;
}

static const tenon_sequence_v1 zoo_sequence = {
    .struct_size = sizeof(tenon_sequence_v1),
    .list = zoo_list,
};

#define ZOO_EXTENSIONS(id) \
  if (strcmp(id, TENON_EXTENSION_SEQUENCE) == 0) return &zoo_sequence
#include "good_plugin.h"

#endif  // TENON_ZOO_SEQUENCE_H
