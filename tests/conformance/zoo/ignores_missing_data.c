// SPDX-License-Identifier: MIT
// Breaks TN-INI-6 at level 8: `init` succeeds when named data is missing.
#include <stddef.h>
#define ZOO_GET_DATA(map, key, size, out) get_data_or_nothing((map), (key), (size), (out))
#include "tenon/abi/tenon.h"

static const float nothing = 0.0f;
static inline void release_nothing(tenon_buffer* buffer) { buffer->data = NULL; }

static inline tenon_status get_data_or_nothing(const tenon_named_data_map* map, const char* key,
                                               uint64_t key_size, tenon_buffer* out) {
  if (map->get_data(map, key, key_size, out) != TENON_STATUS_OK) {
    out->data = &nothing;
    out->nbytes = sizeof nothing;
    out->release = release_nothing;
  }
  return TENON_STATUS_OK;
}
#include "good_plugin.h"
