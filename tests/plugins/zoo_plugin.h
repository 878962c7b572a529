// SPDX-License-Identifier: MIT
//
// A plugin in plain C that is right in every respect. A source of the zoo, or the build, defines
// what it does wrong. Its backend "ZooBackend" takes any blob; a run adds 1 to argument 0.

#ifndef TENON_TEST_ZOO_PLUGIN_H
#define TENON_TEST_ZOO_PLUGIN_H

#include <stddef.h>

#include "tenon/abi/plugin.h"

#ifndef ZOO_MAGIC
#define ZOO_MAGIC TENON_PLUGIN_MAGIC
#endif
#ifndef ZOO_OBJECT_SIZE
#define ZOO_OBJECT_SIZE sizeof(zoo_object)
#endif
#ifndef ZOO_ABI_MAJOR
#define ZOO_ABI_MAJOR TENON_ABI_MAJOR
#endif
#ifndef ZOO_ABI_MINOR
#define ZOO_ABI_MINOR TENON_ABI_MINOR
#endif
#ifndef ZOO_MIN_HOST_ABI_MINOR
#define ZOO_MIN_HOST_ABI_MINOR 0
#endif
#ifndef ZOO_INIT
#define ZOO_INIT zoo_init
#endif
#ifndef ZOO_EXECUTE
#define ZOO_EXECUTE zoo_execute
#endif
#ifndef ZOO_DESTROY
#define ZOO_DESTROY zoo_destroy
#endif
#ifndef ZOO_TABLES
#define ZOO_TABLES {&zoo_api}
#endif
#ifndef ZOO_NUM_BODY_BACKENDS
#define ZOO_NUM_BODY_BACKENDS 1
#endif
#ifndef ZOO_ID
#define ZOO_ID "ZooBackend"
#endif
#ifndef ZOO_TAGS
#define ZOO_TAGS ""
#endif
#ifndef ZOO_CPU_FEATURES
#define ZOO_CPU_FEATURES ""
#endif
#ifndef ZOO_PRIORITY
#define ZOO_PRIORITY 0
#endif
#ifndef ZOO_CONST
#define ZOO_CONST const
#endif

static tenon_status zoo_open(const tenon_host* host, tenon_backend** out) {
  *out = (tenon_backend*)(uintptr_t)host;
  return TENON_STATUS_OK;
}

static void zoo_close(tenon_backend* backend) { (void)backend; }

static inline tenon_status zoo_init(tenon_backend* backend, const tenon_init_context* context,
                                    tenon_delegate** out) {
  (void)backend;
  (void)context;
  *out = NULL;
  return TENON_STATUS_OK;
}

static inline tenon_status zoo_execute(tenon_backend* backend, tenon_delegate* delegate,
                                       const tenon_execution_context* context,
                                       tenon_value* const* args, uint32_t num_args) {
  (void)backend;
  (void)delegate;
  (void)context;
  if (num_args != 1 || args[0]->kind != TENON_VALUE_INT) return TENON_STATUS_INVALID_ARGUMENT;
  args[0]->as.integer += 1;
  return TENON_STATUS_OK;
}

static inline void zoo_destroy(tenon_backend* backend, tenon_delegate* delegate) {
  (void)backend;
  (void)delegate;
}

static const tenon_backend_api zoo_api = {
    .struct_size = sizeof(tenon_backend_api),
    .open = zoo_open,
    .close = zoo_close,
    .init = ZOO_INIT,
    .execute = ZOO_EXECUTE,
    .destroy = ZOO_DESTROY,
};

typedef struct zoo_object {
  tenon_plugin_head head;
  tenon_backend_record record;
  tenon_plugin_body body;
  const tenon_backend_api* tables[1];
} zoo_object;

extern ZOO_CONST zoo_object tenon_plugin_v1;

__attribute__((visibility("default"))) ZOO_CONST zoo_object tenon_plugin_v1 = {
    .head =
        {
            .magic = ZOO_MAGIC,
            .head_size = sizeof(tenon_plugin_head),
            .object_size = ZOO_OBJECT_SIZE,
            .abi_major = ZOO_ABI_MAJOR,
            .abi_minor = ZOO_ABI_MINOR,
            .min_host_abi_minor = ZOO_MIN_HOST_ABI_MINOR,
            .pointer_size = sizeof(void*),
            .little_endian = 1,
            .num_backends = 1,
            .records_offset = offsetof(zoo_object, record),
            .record_size = sizeof(tenon_backend_record),
            .body_offset = offsetof(zoo_object, body),
            .name = "zoo",
        },
    .record = {.struct_size = sizeof(tenon_backend_record),
               .priority = ZOO_PRIORITY,
               .id = ZOO_ID,
               .tags = ZOO_TAGS,
               .cpu_features = ZOO_CPU_FEATURES},
    .body = {.struct_size = sizeof(tenon_plugin_body),
             .num_backends = ZOO_NUM_BODY_BACKENDS,
             .backends = tenon_plugin_v1.tables},
    .tables = ZOO_TABLES,
};

#endif  // TENON_TEST_ZOO_PLUGIN_H
