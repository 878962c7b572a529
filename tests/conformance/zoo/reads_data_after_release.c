// SPDX-License-Identifier: MIT
// Breaks TN-BUF-1: `init` reads named data after releasing it.
#define ZOO_GET_DATA(map, key, size, out) get_data((map), (key), (size), (out))
#include "tenon/abi/tenon.h"

static _Thread_local void (*release_theirs)(tenon_buffer* buffer);

static inline void release_and_read(tenon_buffer* buffer) {
  const volatile char* const bytes = (const volatile char*)buffer->data;
  release_theirs(buffer);
  (void)bytes[0];
}

static inline tenon_status get_data(const tenon_named_data_map* map, const char* key,
                                    uint64_t key_size, tenon_buffer* out) {
  const tenon_status status = map->get_data(map, key, key_size, out);
  if (status == TENON_STATUS_OK && out->nbytes > 0) {
    release_theirs = out->release;
    out->release = release_and_read;
  }
  return status;
}

#include "good_plugin.h"
