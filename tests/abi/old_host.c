// SPDX-License-Identifier: MIT
//
// A host in C, written against ABI 1.0. It must run every later plugin of major 1 that
// does not ask for a newer minor. Usage: old_host PLUGIN BACKEND BLOB, where BLOB is text in which
// `\HH` is a byte. Runs the blob as an addition of two float32 vectors of two elements.

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon_v1_0/abi/tenon.h"

static char last_error[512];

static int complain(const char* what) {
  fprintf(stderr, "old_host: %s (last error: %s)\n", what, last_error);
  return 1;
}

static void set_last_error(const tenon_host* host, tenon_status status, const char* text,
                           uint64_t size) {
  (void)host;
  snprintf(last_error, sizeof last_error, "0x%x: %.*s", (unsigned)status, (int)size, text);
}

static void write_log(const tenon_host* host, int32_t level, const char* text, uint64_t size) {
  (void)host;
  (void)level;
  printf("%.*s\n", (int)size, text);
}

static tenon_status resize_tensor(const tenon_host* host, tenon_tensor* tensor,
                                  const int64_t* sizes, uint32_t rank) {
  (void)host;
  const size_t size = sizeof *sizes * rank;
  const int same = (int32_t)rank == tensor->dl.ndim && memcmp(tensor->dl.shape, sizes, size) == 0;
  return same ? TENON_STATUS_OK : TENON_STATUS_NOT_SUPPORTED;
}

static const void* get_extension(const tenon_host* host, const char* id) {
  (void)host;
  (void)id;
  return NULL;
}

/// Pieces of one block, as many as these runs need.
typedef struct block_allocator {
  tenon_allocator table;
  uint64_t used;
  _Alignas(16) unsigned char bytes[4096];
} block_allocator;

static void* allocate(tenon_allocator* allocator, uint64_t nbytes, uint64_t alignment) {
  block_allocator* block = (block_allocator*)(void*)allocator;
  const uint64_t start = (block->used + alignment - 1) / alignment * alignment;
  if (start + nbytes > sizeof block->bytes) return NULL;
  block->used = start + nbytes;
  return block->bytes + start;
}

static void release(tenon_buffer* buffer) {
  buffer->data = NULL;
  buffer->nbytes = 0;
}

static uint64_t decode(const char* text, unsigned char* out) {
  uint64_t size = 0;
  for (; *text; ++text) {
    if (*text == '\\') {
      const char digits[3] = {text[1], text[2], 0};
      out[size++] = (unsigned char)strtoul(digits, NULL, 16);
      text += 2;
    } else {
      out[size++] = (unsigned char)*text;
    }
  }
  return size;
}

/// The table of `id`, negotiated by the rules of ABI 1.0, or NULL.
static const tenon_backend_api* find_backend(const tenon_plugin_head* head, const char* id) {
  static const uint8_t magic[] = TENON_PLUGIN_MAGIC;
  if (memcmp(head->magic, magic, sizeof magic) != 0) return NULL;
  if (head->abi_major != TENON_ABI_MAJOR || head->min_host_abi_minor > TENON_ABI_MINOR) return NULL;
  const char* object = (const char*)head;
  const tenon_plugin_body* body =
      (const tenon_plugin_body*)(const void*)(object + head->body_offset);
  for (uint32_t i = 0; i < head->num_backends; ++i) {
    const char* at = object + head->records_offset + (size_t)i * head->record_size;
    const tenon_backend_record* record = (const tenon_backend_record*)(const void*)at;
    if (strcmp(record->id, id) == 0) return body->backends[i];
  }
  return NULL;
}

/// One vector of two float32 elements.
typedef struct vector {
  float elements[2];
  int64_t sizes[1];
  int64_t strides[1];
  uint8_t dim_order[1];
  tenon_tensor tensor;
  tenon_value value;
} vector;

static void fill(vector* v, float first, float second) {
  memset(v, 0, sizeof *v);
  v->elements[0] = first;
  v->elements[1] = second;
  v->sizes[0] = 2;
  v->strides[0] = 1;
  v->tensor.struct_size = sizeof v->tensor;
  v->tensor.scalar_type = 6;
  v->tensor.dl.data = v->elements;
  v->tensor.dl.device.device_type = TENON_DL_CPU;
  v->tensor.dl.ndim = 1;
  v->tensor.dl.dtype.code = TENON_DL_FLOAT;
  v->tensor.dl.dtype.bits = 32;
  v->tensor.dl.dtype.lanes = 1;
  v->tensor.dl.shape = v->sizes;
  v->tensor.dl.strides = v->strides;
  v->tensor.dim_order = v->dim_order;
  v->tensor.bounds = v->sizes;
  v->tensor.nbytes = sizeof v->elements;
  v->tensor.capacity = sizeof v->elements;
  v->value.struct_size = sizeof v->value;
  v->value.kind = TENON_VALUE_TENSOR;
  v->value.as.tensor = &v->tensor;
}

static int run(const tenon_backend_api* api, const tenon_host* host, const char* blob_text) {
  static block_allocator runtime = {{sizeof(tenon_allocator), 0, allocate}, 0, {0}};
  static block_allocator temp = {{sizeof(tenon_allocator), 0, allocate}, 0, {0}};
  tenon_backend* backend = NULL;
  if (api->open(host, &backend) != TENON_STATUS_OK) return complain("open failed");
  if (api->is_available && api->is_available(backend) != TENON_STATUS_OK) {
    return complain("the backend is not available");
  }
  if (api->get_extension && api->get_extension(backend, "tenon.draft.unknown/1")) {
    return complain("an unknown extension was found");
  }

  unsigned char blob[512];
  tenon_buffer processed = {sizeof processed, 0, blob, 3, NULL, release};
  tenon_init_context init = {0};
  init.struct_size = sizeof init;
  init.host = host;
  init.method_name = "forward";
  init.processed = &processed;
  init.runtime_allocator = &runtime.table;
  tenon_delegate* delegate = NULL;
  memcpy(blob, "bad", 3);
  last_error[0] = 0;
  if (api->init(backend, &init, &delegate) == TENON_STATUS_OK)
    return complain("bad blob was taken");
  if (!last_error[0]) return complain("a bad blob was refused without a reason");

  processed.data = blob;
  processed.nbytes = decode(blob_text, blob);
  if (api->init(backend, &init, &delegate) != TENON_STATUS_OK) return complain("init failed");

  vector a;
  vector b;
  vector out;
  fill(&a, 1.0f, 2.0f);
  fill(&b, 10.0f, 20.0f);
  tenon_value* const args[] = {&a.value, &b.value, &out.value};
  const tenon_execution_context context = {sizeof context, 0, host, "forward", &temp.table, NULL};
  for (int i = 0; i < 3; ++i) {
    fill(&out, 0.0f, 0.0f);
    temp.used = 0;
    last_error[0] = 0;
    if (api->execute(backend, delegate, &context, args, 1) == TENON_STATUS_OK || !last_error[0]) {
      return complain("one argument was not refused with a reason");
    }
    if (api->execute(backend, delegate, &context, args, 3) != TENON_STATUS_OK) {
      return complain("execute failed");
    }
    if (out.elements[0] != 11.0f || out.elements[1] != 22.0f) return complain("wrong sum");
  }
  api->destroy(backend, delegate);
  api->close(backend);
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 4) return complain("usage: old_host PLUGIN BACKEND BLOB");
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) return complain(dlerror());
  const tenon_plugin_head* head = (const tenon_plugin_head*)dlsym(library, TENON_PLUGIN_SYMBOL);
  if (!head) return complain("no plugin symbol");
  const tenon_backend_api* api = find_backend(head, argv[2]);
  if (!api) return complain("the plugin does not fit or has no such backend");
  const tenon_host host = {sizeof host,    TENON_ABI_MAJOR, TENON_ABI_MINOR,
                           "old host 1.0", argv[1],         set_last_error,
                           write_log,      resize_tensor,   get_extension};
  const int failed = run(api, &host, argv[3]);
  dlclose(library);
  return failed;
}
