// SPDX-License-Identifier: MIT
//
// A backend in plain C that uses only tenon/abi and keeps every rule. A plugin of the zoo includes
// this, replaces one of its functions, and then includes good_plugin.h.
//
// Blob: "ZOO1", version (1), operation, bytes of the key that follows. Numbers are 32 bits wide and
// little-endian.
//   operation 0   out = a * scale + b + added + bias
//   operation 1   out = a * scale + runs + added + bias, where `runs` counts this run and those
//   before
// All tensors are float32 of one shape of at most 8 dimensions, also a dynamic one. `scale` is the
// compile spec of that name (a float32; 1 without it), `added` the first float32 of the named data
// of that key (0 without a key), and `bias` an option.

#ifndef TENON_ZOO_GOOD_H
#define TENON_ZOO_GOOD_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/abi/tenon.h"

/// Whether the struct at `object` is long enough to have `member` (TN-HST-1).
#define ZOO_HAS(object, type, member) \
  ((object)->struct_size >= offsetof(type, member) + sizeof((object)->member))

// What a broken plugin may replace before it includes this.
#ifndef ZOO_KNOWS_VERSION
#define ZOO_KNOWS_VERSION(version) ((version) == 1)
#endif
/// The step between the elements of an array of structs.
#ifndef ZOO_STEP
#define ZOO_STEP(first) (first)->struct_size
#endif
#ifndef ZOO_ALLOCATE
#define ZOO_ALLOCATE(allocator, nbytes, alignment) \
  (allocator)->allocate((allocator), (nbytes), (alignment))
#endif
#ifndef ZOO_GET_DATA
#define ZOO_GET_DATA(map, key, size, out) (map)->get_data((map), (key), (size), (out))
#endif

/// The model that `init` read: shared by a delegate and its sessions, in memory of the runtime
/// allocator.
typedef struct good_model {
  uint32_t version;
  uint32_t operation;
  float scale;
  float added;
  float bias;
} good_model;

struct tenon_backend {
  const tenon_host* host;
  atomic_llong bias;
  void* note;  ///< State of a broken plugin; NULL at first.
};

struct tenon_delegate {
  good_model* model;
  int64_t runs;
  void* note;  ///< State of a broken plugin; NULL at first.
};

/// The heads of functions in place of `good_execute` and `good_init`, with the names of their
/// parameters.
#define ZOO_EXECUTE_FUNCTION(name)                                                           \
  static tenon_status name(tenon_backend* backend, tenon_delegate* delegate,                 \
                           const tenon_execution_context* context, tenon_value* const* args, \
                           uint32_t num_args)
#define ZOO_INIT_FUNCTION(name)                                                       \
  static tenon_status name(tenon_backend* backend, const tenon_init_context* context, \
                           tenon_delegate** out)

/// Keeps the text as the reason of the failure `status`, which it returns.
__attribute__((format(printf, 3, 4))) static inline tenon_status good_fail(const tenon_host* host,
                                                                           tenon_status status,
                                                                           const char* format,
                                                                           ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  host->set_last_error(host, status, text, strlen(text));
  return status;
}

/// The number that is not 0 once the run was cancelled, or NULL where it cannot be.
static inline const uint32_t* good_cancel_flag(const tenon_execution_context* context) {
  const tenon_host* const host = context->host;
  if (!ZOO_HAS(host, tenon_host, get_extension)) return NULL;
  const tenon_cancel_flag_v1* const table =
      (const tenon_cancel_flag_v1*)host->get_extension(host, TENON_EXTENSION_CANCEL_FLAG);
  return table ? table->get_cancel_flag(context) : NULL;
}
static inline int good_is_cancelled(const tenon_execution_context* context) {
  const uint32_t* const flag = good_cancel_flag(context);
  return flag && __atomic_load_n(flag, __ATOMIC_RELAXED) != 0;
}

static inline tenon_status good_open(const tenon_host* host, tenon_backend** out) {
  if (!ZOO_HAS(host, tenon_host, set_last_error)) return TENON_STATUS_NOT_SUPPORTED;
  if (host->abi_major != TENON_ABI_MAJOR || !ZOO_HAS(host, tenon_host, resize_tensor)) {
    return good_fail(host, TENON_STATUS_NOT_SUPPORTED,
                     "ZooBackend speaks ABI %d.%d, the host %s speaks %u.%u in a table of %u bytes",
                     TENON_ABI_MAJOR, TENON_ABI_MINOR, host->name, host->abi_major, host->abi_minor,
                     host->struct_size);
  }
  tenon_backend* const backend = (tenon_backend*)malloc(sizeof *backend);
  if (!backend) {
    return good_fail(host, TENON_STATUS_MEMORY_ALLOCATION_FAILED,
                     "open: expected %zu bytes of memory, found none", sizeof *backend);
  }
  backend->host = host;
  atomic_init(&backend->bias, 0);
  backend->note = NULL;
  *out = backend;
  return TENON_STATUS_OK;
}

static inline void good_close(tenon_backend* backend) { free(backend); }

static inline tenon_status good_is_available(tenon_backend* backend) {
  (void)backend;
  return TENON_STATUS_OK;
}

/// The parts of a blob; `key` points into it.
typedef struct good_blob {
  uint32_t version;
  uint32_t operation;
  uint32_t key_size;
  const char* key;
} good_blob;

static inline tenon_status good_read_blob(const tenon_host* host, const tenon_buffer* processed,
                                          good_blob* out) {
  if (processed->nbytes < 16) {
    return good_fail(host, TENON_STATUS_INVALID_PROGRAM,
                     "blob: expected 16 bytes or more, found %llu",
                     (unsigned long long)processed->nbytes);
  }
  const unsigned char* const bytes = (const unsigned char*)processed->data;
  if (memcmp(bytes, "ZOO1", 4) != 0) {
    return good_fail(host, TENON_STATUS_DELEGATE_INVALID_COMPATIBILITY,
                     "blob: expected magic 5a 4f 4f 31, found %02x %02x %02x %02x", bytes[0],
                     bytes[1], bytes[2], bytes[3]);
  }
  memcpy(&out->version, bytes + 4, 4);
  memcpy(&out->operation, bytes + 8, 4);
  memcpy(&out->key_size, bytes + 12, 4);
  out->key = (const char*)bytes + 16;
  if (!ZOO_KNOWS_VERSION(out->version)) {
    return good_fail(host, TENON_STATUS_DELEGATE_INVALID_COMPATIBILITY,
                     "blob: expected version 1, found version %u", out->version);
  }
  if (out->operation > 1) {
    return good_fail(host, TENON_STATUS_INVALID_PROGRAM,
                     "blob: expected operation 0 or 1, found operation %u", out->operation);
  }
  if (processed->nbytes - 16 != out->key_size) {
    return good_fail(host, TENON_STATUS_INVALID_PROGRAM,
                     "blob: expected a key of %u bytes, found %llu bytes", out->key_size,
                     (unsigned long long)processed->nbytes - 16);
  }
  return TENON_STATUS_OK;
}

static inline tenon_status good_read_scale(const tenon_host* host,
                                           const tenon_init_context* context, float* scale) {
  const char* at = (const char*)context->compile_specs;
  for (uint32_t i = 0; i < context->num_compile_specs; ++i) {
    const tenon_compile_spec* const spec = (const tenon_compile_spec*)(const void*)at;
    at += ZOO_STEP(context->compile_specs);
    if (strcmp(spec->key, "scale") != 0) continue;
    if (spec->value_size != sizeof *scale) {
      return good_fail(host, TENON_STATUS_INVALID_ARGUMENT,
                       "compile spec scale: expected %zu bytes, found %llu", sizeof *scale,
                       (unsigned long long)spec->value_size);
    }
    memcpy(scale, spec->value, sizeof *scale);
  }
  return TENON_STATUS_OK;
}

static inline tenon_status good_read_added(const tenon_host* host,
                                           const tenon_init_context* context, const good_blob* blob,
                                           float* added) {
  if (blob->key_size == 0) return TENON_STATUS_OK;
  const int shown = blob->key_size < 64 ? (int)blob->key_size : 64;
  if (!ZOO_HAS(context, tenon_init_context, named_data_map) || !context->named_data_map) {
    return good_fail(host, TENON_STATUS_NOT_FOUND,
                     "named data %.*s: expected 4 bytes, found a program without named data", shown,
                     blob->key);
  }
  tenon_buffer data = {.struct_size = sizeof data};
  const tenon_status status =
      ZOO_GET_DATA(context->named_data_map, blob->key, blob->key_size, &data);
  if (status != TENON_STATUS_OK) {
    return good_fail(host, status, "named data %.*s: expected 4 bytes, found status 0x%x", shown,
                     blob->key, status);
  }
  const uint64_t found = data.nbytes;
  if (found >= sizeof *added) memcpy(added, data.data, sizeof *added);
  data.release(&data);
  if (found < sizeof *added) {
    return good_fail(host, TENON_STATUS_INVALID_EXTERNAL_DATA,
                     "named data %.*s: expected 4 bytes or more, found %llu", shown, blob->key,
                     (unsigned long long)found);
  }
  return TENON_STATUS_OK;
}

static inline tenon_status good_new_delegate(tenon_backend* backend, good_model* model,
                                             tenon_delegate** out) {
  tenon_delegate* const delegate = (tenon_delegate*)calloc(1, sizeof *delegate);
  if (!delegate) {
    return good_fail(backend->host, TENON_STATUS_MEMORY_ALLOCATION_FAILED,
                     "delegate: expected %zu bytes of memory, found none", sizeof *delegate);
  }
  delegate->model = model;
  *out = delegate;
  return TENON_STATUS_OK;
}

static inline void good_destroy(tenon_backend* backend, tenon_delegate* delegate) {
  (void)backend;
  free(delegate);
}

#include "good_extensions.h"
#include "good_tensors.h"

static inline tenon_status good_init(tenon_backend* backend, const tenon_init_context* context,
                                     tenon_delegate** out) {
  const tenon_host* const host = backend->host;
  if (!ZOO_HAS(context, tenon_init_context, runtime_allocator)) {
    return good_fail(host, TENON_STATUS_INVALID_ARGUMENT,
                     "init: expected a context with a runtime allocator, found %u bytes",
                     context->struct_size);
  }
  good_blob blob = {.version = 0};
  tenon_status status = good_read_blob(host, context->processed, &blob);
  if (status != TENON_STATUS_OK) return status;
  good_model model = {.version = blob.version, .operation = blob.operation, .scale = 1.0f};
  status = good_read_scale(host, context, &model.scale);
  if (status != TENON_STATUS_OK) return status;
  status = good_read_bias(backend, context, &model.bias);
  if (status != TENON_STATUS_OK) return status;
  status = good_read_added(host, context, &blob, &model.added);
  if (status != TENON_STATUS_OK) return status;

  good_model* const kept =
      (good_model*)ZOO_ALLOCATE(context->runtime_allocator, sizeof *kept, _Alignof(good_model));
  if (!kept) {
    return good_fail(host, TENON_STATUS_MEMORY_ALLOCATION_FAILED,
                     "init: expected %zu bytes of the runtime allocator, found none", sizeof *kept);
  }
  *kept = model;
  status = good_new_delegate(backend, kept, out);
  if (status == TENON_STATUS_OK) context->processed->release(context->processed);
  return status;
}

#endif  // TENON_ZOO_GOOD_H
