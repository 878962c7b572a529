// SPDX-License-Identifier: MIT
//
// The backend that the benchmark programs name, written against the C boundary alone: a delegate
// call into it costs what the boundary costs.

#include <stddef.h>

#include "tenon/abi/plugin.h"

#ifndef NOOP_ID
#define NOOP_ID "NoopBackend"
#endif

static tenon_status noop_open(const tenon_host* host, tenon_backend** out) {
  (void)host;
  *out = NULL;
  return TENON_STATUS_OK;
}

static void noop_close(tenon_backend* backend) { (void)backend; }

static tenon_status noop_is_available(tenon_backend* backend) {
  (void)backend;
  return TENON_STATUS_OK;
}

static tenon_status noop_init(tenon_backend* backend, const tenon_init_context* context,
                              tenon_delegate** out) {
  (void)backend;
  *out = (tenon_delegate*)context->processed;
  return TENON_STATUS_OK;
}

static tenon_status noop_execute(tenon_backend* backend, tenon_delegate* delegate,
                                 const tenon_execution_context* context, tenon_value* const* args,
                                 uint32_t num_args) {
  (void)backend;
  (void)delegate;
  (void)context;
  (void)args;
  (void)num_args;
  return TENON_STATUS_OK;
}

static void noop_destroy(tenon_backend* backend, tenon_delegate* delegate) {
  (void)backend;
  (void)delegate;
}

static const void* noop_get_extension(tenon_backend* backend, const char* id) {
  (void)backend;
  (void)id;
  return NULL;
}

static const tenon_backend_api api = {
    .struct_size = sizeof(tenon_backend_api),
    .open = noop_open,
    .close = noop_close,
    .is_available = noop_is_available,
    .init = noop_init,
    .execute = noop_execute,
    .destroy = noop_destroy,
    .get_extension = noop_get_extension,
};
static const tenon_backend_api* const backends[] = {&api};

struct noop_plugin {
  tenon_plugin_head head;
  tenon_backend_record record;
  tenon_plugin_body body;
};

TENON_EXPORT extern const struct noop_plugin tenon_plugin_v1;
const struct noop_plugin tenon_plugin_v1 = {
    .head =
        {
            .magic = TENON_PLUGIN_MAGIC,
            .head_size = sizeof(tenon_plugin_head),
            .object_size = sizeof(struct noop_plugin),
            .abi_major = TENON_ABI_MAJOR,
            .abi_minor = TENON_ABI_MINOR,
            .min_host_abi_minor = 0,
            .pointer_size = sizeof(void*),
            .little_endian = 1,
            .num_backends = 1,
            .records_offset = offsetof(struct noop_plugin, record),
            .record_size = sizeof(tenon_backend_record),
            .body_offset = offsetof(struct noop_plugin, body),
            .name = "noop",
            .version = "1.0.0",
            .sdk_version = TENON_VERSION_STRING,
        },
    .record =
        {
            .struct_size = sizeof(tenon_backend_record),
            .id = NOOP_ID,
            .tags = "debug",
            .description = "Does nothing, for benchmarks",
        },
    .body =
        {
            .struct_size = sizeof(tenon_plugin_body),
            .num_backends = 1,
            .backends = backends,
        },
};
