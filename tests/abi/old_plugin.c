// SPDX-License-Identifier: MIT
//
// A plugin in C, written against ABI 1.0. It must run in every later host of major 1.
// Its backend "OldAdd" adds two float32 tensors of the number of elements that its blob says.

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tenon_v1_0/abi/tenon.h"

struct tenon_backend {
  const tenon_host* host;
  int64_t num_delegates;
};

struct tenon_delegate {
  uint32_t num_elements;
  float* scratch;
};

static tenon_status fail(const tenon_host* host, tenon_status status, const char* text) {
  host->set_last_error(host, status, text, strlen(text));
  return status;
}

static tenon_status old_open(const tenon_host* host, tenon_backend** out) {
  if (host->abi_major != TENON_ABI_MAJOR) {
    return fail(host, TENON_STATUS_NOT_SUPPORTED, "OldAdd speaks ABI 1.0, the host another major");
  }
  *out = (tenon_backend*)calloc(1, sizeof(tenon_backend));
  if (!*out) return fail(host, TENON_STATUS_MEMORY_ALLOCATION_FAILED, "no memory");
  (*out)->host = host;
  return TENON_STATUS_OK;
}

static void old_close(tenon_backend* backend) { free(backend); }

static tenon_status old_is_available(tenon_backend* backend) {
  (void)backend;
  return TENON_STATUS_OK;
}

static tenon_status old_init(tenon_backend* backend, const tenon_init_context* context,
                             tenon_delegate** out) {
  const tenon_host* host = backend->host;
  if (context->processed->nbytes != sizeof(uint32_t)) {
    return fail(host, TENON_STATUS_DELEGATE_INVALID_COMPATIBILITY, "blob: expected 4 bytes");
  }
  // The specs may be larger than this plugin knows: each step is the size that the first states.
  const char* next = (const char*)context->compile_specs;
  for (uint32_t i = 0; i < context->num_compile_specs; ++i) {
    const tenon_compile_spec* spec = (const tenon_compile_spec*)(const void*)next;
    if (strcmp(spec->key, "known") != 0) {
      return fail(host, TENON_STATUS_NOT_SUPPORTED, "compile spec: expected key known");
    }
    next += context->compile_specs->struct_size;
  }
  tenon_delegate* delegate = (tenon_delegate*)calloc(1, sizeof(tenon_delegate));
  if (!delegate) return fail(host, TENON_STATUS_MEMORY_ALLOCATION_FAILED, "no memory");
  memcpy(&delegate->num_elements, context->processed->data, sizeof(uint32_t));
  delegate->scratch = (float*)context->runtime_allocator->allocate(
      context->runtime_allocator, delegate->num_elements * sizeof(float), sizeof(float));
  if (!delegate->scratch) {
    free(delegate);
    return fail(host, TENON_STATUS_DELEGATE_MEMORY_ALLOCATION_FAILED, "no memory of the host");
  }
  context->processed->release(context->processed);
  ++backend->num_delegates;
  *out = delegate;
  return TENON_STATUS_OK;
}

static tenon_status old_execute(tenon_backend* backend, tenon_delegate* delegate,
                                const tenon_execution_context* context, tenon_value* const* args,
                                uint32_t num_args) {
  (void)context;
  const uint64_t nbytes = (uint64_t)delegate->num_elements * sizeof(float);
  if (num_args != 3) {
    return fail(backend->host, TENON_STATUS_INVALID_ARGUMENT, "expected 3 arguments");
  }
  for (uint32_t i = 0; i < num_args; ++i) {
    if (args[i]->kind != TENON_VALUE_TENSOR || args[i]->as.tensor->scalar_type != 6 ||
        args[i]->as.tensor->nbytes != nbytes || !args[i]->as.tensor->dl.data) {
      return fail(backend->host, TENON_STATUS_INVALID_ARGUMENT, "expected float32 tensors");
    }
  }
  const float* a = (const float*)args[0]->as.tensor->dl.data;
  const float* b = (const float*)args[1]->as.tensor->dl.data;
  for (uint32_t i = 0; i < delegate->num_elements; ++i) delegate->scratch[i] = a[i] + b[i];
  memcpy(args[2]->as.tensor->dl.data, delegate->scratch, (size_t)nbytes);
  return TENON_STATUS_OK;
}

static void old_destroy(tenon_backend* backend, tenon_delegate* delegate) {
  --backend->num_delegates;
  free(delegate);
}

static tenon_status old_memory_info(tenon_backend* backend, tenon_delegate* delegate,
                                    tenon_memory_info* out) {
  (void)delegate;
  out->host_weights = (uint64_t)backend->num_delegates;
  return TENON_STATUS_OK;
}

static const void* old_get_extension(tenon_backend* backend, const char* id) {
  (void)backend;
  static const tenon_memory_info_v1 table = {sizeof(tenon_memory_info_v1), 0, old_memory_info};
  return strcmp(id, TENON_EXTENSION_MEMORY_INFO) == 0 ? &table : NULL;
}

static const tenon_backend_api old_api = {
    sizeof(tenon_backend_api), 0,        old_open,    old_close,
    old_is_available,          old_init, old_execute, old_destroy,
    old_get_extension,
};

typedef struct old_object {
  tenon_plugin_head head;
  tenon_backend_record record;
  tenon_plugin_body body;
  const tenon_backend_api* tables[1];
} old_object;

extern const old_object tenon_plugin_v1;

__attribute__((visibility("default"))) const old_object tenon_plugin_v1 = {
    .head =
        {
            .magic = TENON_PLUGIN_MAGIC,
            .head_size = sizeof(tenon_plugin_head),
            .object_size = sizeof(old_object),
            .abi_major = TENON_ABI_MAJOR,
            .abi_minor = TENON_ABI_MINOR,
            .pointer_size = sizeof(void*),
            .little_endian = 1,
            .num_backends = 1,
            .records_offset = offsetof(old_object, record),
            .record_size = sizeof(tenon_backend_record),
            .body_offset = offsetof(old_object, body),
            .name = "old plugin",
            .version = "1.0.0",
            .vendor = "someone",
            .sdk_version = TENON_VERSION_STRING,
        },
    .record = {.struct_size = sizeof(tenon_backend_record),
               .id = "OldAdd",
               .tags = "old",
               .description = "adds"},
    .body = {sizeof(tenon_plugin_body), 1, tenon_plugin_v1.tables},
    .tables = {&old_api},
};
