// SPDX-License-Identifier: MIT
//
// `init` (TN-INI). README.md says how a section becomes a plugin.

#ifdef ZOO_ignores_failed_allocation
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
#endif

#ifdef ZOO_ignores_missing_data
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
#endif

#ifdef ZOO_late_error
// Breaks TN-INI-2 at level 5: an unknown version is refused only by `execute`.
#define ZOO_KNOWS_VERSION(version) ((version) != 0)
#include "good.h"

ZOO_EXECUTE_FUNCTION(execute) {
  if (delegate->model->version != 1) {
    return good_fail(backend->host, TENON_STATUS_DELEGATE_INVALID_COMPATIBILITY,
                     "blob: expected version 1, found version %u", delegate->model->version);
  }
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#endif

#include "good.h"

#ifdef ZOO_believes_blob
// Breaks TN-INI-5 at level 5: `init` trusts the key length in the blob and reads beyond its end.
ZOO_INIT_FUNCTION(init) {
  const tenon_buffer* const blob = context->processed;
  if (blob->nbytes >= 16) {
    const volatile unsigned char* const bytes = (const volatile unsigned char*)blob->data;
    const uint32_t size = bytes[12] | (uint32_t)bytes[13] << 8 | (uint32_t)bytes[14] << 16 |
                          (uint32_t)bytes[15] << 24;
    for (uint32_t i = 0; i < size; ++i) (void)bytes[16 + (size_t)i];
  }
  return good_init(backend, context, out);
}

#define ZOO_INIT init
#endif

#ifdef ZOO_keeps_context
// Breaks TN-INI-3: `execute` reads the context of `init`.
ZOO_EXECUTE_FUNCTION(execute) {
  const volatile tenon_init_context* const kept = (tenon_init_context*)delegate->note;
  if (kept && kept->host != backend->host) {
    return good_fail(backend->host, TENON_STATUS_INVALID_STATE,
                     "context of init: expected the host there, found another");
  }
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_AFTER_INIT (*out)->note = (void*)(uintptr_t)context
#define ZOO_EXECUTE execute
#endif

#ifdef ZOO_keeps_method_name
// Breaks TN-INI-3 at level 3: `destroy` reads the method's name in the context of `init`.
static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  const volatile char* const kept = delegate ? (const char*)delegate->note : NULL;
  if (kept && kept[0] == '\0') backend->note = delegate;
  good_destroy(backend, delegate);
}

#define ZOO_AFTER_INIT (*out)->note = (void*)(uintptr_t)context->method_name
#define ZOO_DESTROY destroy
#endif

#ifdef ZOO_keeps_spec_key
// Breaks TN-INI-3 at level 3: `execute` reads the key of a compile spec.
ZOO_INIT_FUNCTION(init) {
  const tenon_status status = good_init(backend, context, out);
  if (status == TENON_STATUS_OK && context->num_compile_specs != 0) {
    (*out)->note = (void*)(uintptr_t)context->compile_specs->key;
  }
  return status;
}

ZOO_EXECUTE_FUNCTION(execute) {
  const volatile char* const kept = (const char*)delegate->note;
  if (kept && kept[0] == '\0') {
    return good_fail(backend->host, TENON_STATUS_INVALID_STATE,
                     "compile spec: expected a key with letters, found an empty one");
  }
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_INIT init
#define ZOO_EXECUTE execute
#endif

#ifdef ZOO_leaks_on_failed_init
// Breaks TN-INI-1 at level 6: the memory of a failed `init` is kept until `close`.
#include "keep.h"

ZOO_INIT_FUNCTION(init) {
  const tenon_status status = good_init(backend, context, out);
  if (status != TENON_STATUS_OK) keep_memory(&backend->note);
  return status;
}

#define ZOO_INIT init
#define ZOO_CLOSE keep_close
#endif

#ifdef ZOO_loads_nothing
// Breaks TN-INI-4: `init` succeeds without a delegate.
ZOO_INIT_FUNCTION(init) {
  tenon_delegate* mine = NULL;
  const tenon_status status = good_init(backend, context, &mine);
  (void)out;
  if (status == TENON_STATUS_OK) good_destroy(backend, mine);
  return status;
}

#define ZOO_INIT init
#endif

#ifdef ZOO_never_recovers
// Breaks TN-INI-6 at level 8: after one failed allocation, every later `init` fails.
static atomic_int failed;

ZOO_INIT_FUNCTION(init) {
  if (atomic_load(&failed)) {
    return good_fail(backend->host, TENON_STATUS_INVALID_STATE,
                     "memory: expected none to have been refused before, found one that was");
  }
  const tenon_status status = good_init(backend, context, out);
  if (status == TENON_STATUS_MEMORY_ALLOCATION_FAILED) atomic_store(&failed, 1);
  return status;
}

#define ZOO_INIT init
#endif

#ifdef ZOO_reads_past_blob
// Breaks TN-INI-5 at level 5: `init` reads the byte after the end of the blob.
ZOO_INIT_FUNCTION(init) {
  const volatile char* const bytes = (const volatile char*)context->processed->data;
  if (bytes) (void)bytes[context->processed->nbytes];
  return good_init(backend, context, out);
}

#define ZOO_INIT init
#endif

#ifdef ZOO_refuses_good_blob
// Breaks TN-INI-7: `init` refuses every blob.
ZOO_INIT_FUNCTION(init) {
  const tenon_status status = good_init(backend, context, out);
  if (status != TENON_STATUS_OK) return status;
  good_destroy(backend, *out);
  return good_fail(backend->host, TENON_STATUS_INVALID_PROGRAM,
                   "blob: expected one of another kind, found one of version 1");
}

#define ZOO_INIT init
#endif

#ifdef ZOO_refuses_versions_without_numbers
// Breaks TN-INI-2 at level 5: an unknown version is refused without naming it.
ZOO_INIT_FUNCTION(init) {
  const tenon_status status = good_init(backend, context, out);
  if (status != TENON_STATUS_DELEGATE_INVALID_COMPATIBILITY) return status;
  return good_fail(backend->host, status, "blob: expected a blob that fits, found another");
}

#define ZOO_INIT init
#endif

#ifdef ZOO_remembers_other_programs
// Breaks TN-INI-8 at level 4: once a program with a counter was destroyed, others give other
// numbers.
static atomic_int counted;

static void after_run(const tenon_delegate* delegate, const tenon_tensor* out) {
  if (delegate->model->operation == 1) return;
  if (atomic_load(&counted) != 0) *good_element(out, 0) += 1.0f;
}

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  if (delegate && delegate->model->operation == 1 && delegate->runs > 0) {
    atomic_store(&counted, 1);
  }
  good_destroy(backend, delegate);
}

#define ZOO_AFTER_RUN after_run(delegate, out)
#define ZOO_DESTROY destroy
#endif

#ifdef ZOO_writes_to_blob
// Breaks TN-INI-5: `init` changes the blob in place.
ZOO_INIT_FUNCTION(init) {
  const tenon_buffer* const blob = context->processed;
  if (blob->nbytes > 0) {
    // Through a pointer that is not const, like code that swaps bytes in place.
    volatile char* const bytes = (volatile char*)(uintptr_t)blob->data;
    bytes[blob->nbytes - 1] = (char)(bytes[blob->nbytes - 1] ^ 1);
    bytes[blob->nbytes - 1] = (char)(bytes[blob->nbytes - 1] ^ 1);
  }
  return good_init(backend, context, out);
}

#define ZOO_INIT init
#endif

#include "good_plugin.h"
