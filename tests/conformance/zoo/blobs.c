// SPDX-License-Identifier: MIT
//
// `check_blob` and buffers (TN-BLB, TN-BUF). README.md says how a section becomes a plugin.

#ifdef ZOO_reads_data_after_release
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
#endif

#include "good.h"

#ifdef ZOO_check_blob_always_fails
// Breaks TN-BLB-2 at level 5: `check_blob` fails for every blob, also for those that `init` loads.
static tenon_status check_blob(tenon_backend* backend, const tenon_init_context* context,
                               uint32_t* verdict) {
  (void)context;
  (void)verdict;
  return good_fail(backend->host, TENON_STATUS_NOT_SUPPORTED,
                   "check_blob: expected a device that can be asked, found none");
}

#define ZOO_CHECK_BLOB check_blob
#endif

#ifdef ZOO_check_blob_releases
// Breaks TN-BLB-1 at level 5: `check_blob` releases the blob.
static tenon_status check_blob(tenon_backend* backend, const tenon_init_context* context,
                               uint32_t* verdict) {
  const tenon_status status = good_check_blob(backend, context, verdict);
  context->processed->release(context->processed);
  return status;
}

#define ZOO_CHECK_BLOB check_blob
#endif

#ifdef ZOO_good_new_verdict
// Breaks nothing: it gives a verdict that this host does not know about the blobs that it takes.
enum { verdict_of_later = 7 };

static tenon_status check_blob(tenon_backend* backend, const tenon_init_context* context,
                               uint32_t* verdict) {
  const tenon_status status = good_check_blob(backend, context, verdict);
  if (status != TENON_STATUS_OK || *verdict != TENON_BLOB_OPTIMAL) return status;
  *verdict = verdict_of_later;
  (void)good_fail(backend->host, TENON_STATUS_NOT_SUPPORTED, "better after a second load");
  return TENON_STATUS_OK;
}

#define ZOO_CHECK_BLOB check_blob
#endif

#ifdef ZOO_incompatible_but_loads
// Breaks TN-BLB-2 at level 5: `check_blob` reports every blob as incompatible, but `init` loads it.
static tenon_status check_blob(tenon_backend* backend, const tenon_init_context* context,
                               uint32_t* verdict) {
  const tenon_status status = good_check_blob(backend, context, verdict);
  if (status != TENON_STATUS_OK || *verdict == TENON_BLOB_INCOMPATIBLE) return status;
  *verdict = TENON_BLOB_INCOMPATIBLE;
  good_fail(backend->host, TENON_STATUS_DELEGATE_INVALID_COMPATIBILITY,
            "blob: expected version 2, found version 1");
  return status;
}

#define ZOO_CHECK_BLOB check_blob
#endif

#ifdef ZOO_optimal_but_refused
// Breaks TN-BLB-3 at level 5: `check_blob` reports every blob as optimal, also those that `init`
// refuses.
static tenon_status check_blob(tenon_backend* backend, const tenon_init_context* context,
                               uint32_t* verdict) {
  (void)backend;
  (void)context;
  *verdict = TENON_BLOB_OPTIMAL;
  return TENON_STATUS_OK;
}

#define ZOO_CHECK_BLOB check_blob
#endif

#ifdef ZOO_reads_after_release
// Breaks TN-BUF-1: `init` reads the blob after releasing it.
ZOO_INIT_FUNCTION(init) {
  const volatile char* const bytes = (const volatile char*)context->processed->data;
  const tenon_status status = good_init(backend, context, out);
  if (status == TENON_STATUS_OK) (void)bytes[0];
  return status;
}

#define ZOO_INIT init
#endif

#include "good_plugin.h"
