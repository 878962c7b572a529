// SPDX-License-Identifier: MIT
//
// The tables and the exported object of a plugin of the zoo. Included last: the
// definitions of a broken plugin replace the correct ones.

#ifndef TENON_ZOO_GOOD_PLUGIN_H
#define TENON_ZOO_GOOD_PLUGIN_H

#include "good.h"

/// What a plugin does before it opens, and before and after each `init`, the latter where it
/// succeeds: statements, which see the parameters.
#ifdef ZOO_BEFORE_OPEN
static tenon_status open_backend(const tenon_host* host, tenon_backend** out) {
  ZOO_BEFORE_OPEN;
  return good_open(host, out);
}
#define ZOO_OPEN open_backend
#endif
#if defined(ZOO_BEFORE_INIT) || defined(ZOO_AFTER_INIT)
#ifndef ZOO_BEFORE_INIT
#define ZOO_BEFORE_INIT (void)0
#endif
#ifndef ZOO_AFTER_INIT
#define ZOO_AFTER_INIT (void)0
#endif
ZOO_INIT_FUNCTION(init) {
  ZOO_BEFORE_INIT;
  const tenon_status status = good_init(backend, context, out);
  if (status == TENON_STATUS_OK) ZOO_AFTER_INIT;
  return status;
}
#define ZOO_INIT init
#endif
#ifndef ZOO_OPEN
#define ZOO_OPEN good_open
#endif
#ifndef ZOO_CLOSE
#define ZOO_CLOSE good_close
#endif
#ifndef ZOO_IS_AVAILABLE
#define ZOO_IS_AVAILABLE good_is_available
#endif
#ifndef ZOO_INIT
#define ZOO_INIT good_init
#endif
/// What a plugin does before each of its runs, and after each that succeeds and has outputs:
/// statements, in which `delegate` is the delegate of the run, and `out` its output.
#if defined(ZOO_BEFORE_RUN) || defined(ZOO_AFTER_RUN)
#ifndef ZOO_BEFORE_RUN
#define ZOO_BEFORE_RUN (void)0
#endif
#ifndef ZOO_AFTER_RUN
#define ZOO_AFTER_RUN (void)0
#endif
ZOO_EXECUTE_FUNCTION(execute) {
  ZOO_BEFORE_RUN;
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  const tenon_tensor* const out = status == TENON_STATUS_OK ? good_output(args, num_args) : NULL;
  if (out) ZOO_AFTER_RUN;
  return status;
}
#define ZOO_EXECUTE execute
#endif
#ifndef ZOO_EXECUTE
#define ZOO_EXECUTE good_execute
#endif
#ifndef ZOO_DESTROY
#define ZOO_DESTROY good_destroy
#endif
#ifndef ZOO_GET_EXTENSION
#define ZOO_GET_EXTENSION good_get_extension
#endif
#ifndef ZOO_SET_OPTION
#define ZOO_SET_OPTION good_set_option
#endif
#ifndef ZOO_GET_OPTION
#define ZOO_GET_OPTION good_get_option
#endif
#ifndef ZOO_MEMORY_INFO
#define ZOO_MEMORY_INFO good_memory_info
#endif
#ifndef ZOO_CREATE_SESSION
#define ZOO_CREATE_SESSION good_create_session
#endif
#ifndef ZOO_CHECK_BLOB
#define ZOO_CHECK_BLOB good_check_blob
#endif
/// The first statement of `get_extension`.
#ifndef ZOO_EXTENSIONS
#define ZOO_EXTENSIONS(id) (void)0
#endif

#ifndef ZOO_MAGIC
#define ZOO_MAGIC TENON_PLUGIN_MAGIC
#endif
#ifndef ZOO_POINTER_SIZE
#define ZOO_POINTER_SIZE sizeof(void*)
#endif
#ifndef ZOO_LITTLE_ENDIAN
#define ZOO_LITTLE_ENDIAN 1
#endif
#ifndef ZOO_NUM_RECORDS
#define ZOO_NUM_RECORDS 1
#endif
#ifndef ZOO_NUM_BACKENDS
#define ZOO_NUM_BACKENDS ZOO_NUM_RECORDS
#endif
#ifndef ZOO_NUM_TABLES
#define ZOO_NUM_TABLES ZOO_NUM_RECORDS
#endif
#ifndef ZOO_BODY_OFFSET
#define ZOO_BODY_OFFSET offsetof(zoo_object, body)
#endif
#ifndef ZOO_RECORD_TYPE
#define ZOO_RECORD_TYPE tenon_backend_record
#endif
#ifndef ZOO_RECORD_SIZE
#define ZOO_RECORD_SIZE sizeof(tenon_backend_record)
#endif
#ifndef ZOO_MIN_PAYLOAD_VERSION
#define ZOO_MIN_PAYLOAD_VERSION 1
#endif
#ifndef ZOO_VERSION
#define ZOO_VERSION "1.0.0"
#endif
#ifndef ZOO_ID
#define ZOO_ID "ZooBackend"
#endif
#ifndef ZOO_DESCRIPTION
#define ZOO_DESCRIPTION "Adds tensors of float32"
#endif
#ifndef ZOO_FLAGS
#define ZOO_FLAGS 0
#endif
#ifndef ZOO_API_SIZE
#define ZOO_API_SIZE sizeof(tenon_backend_api)
#endif
#ifndef ZOO_TABLE
#define ZOO_TABLE &zoo_api
#endif
#ifndef ZOO_SYMBOL
#define ZOO_SYMBOL tenon_plugin_v1
#endif
#ifndef ZOO_CONST
#define ZOO_CONST const
#endif

static const tenon_options_v1 zoo_options = {
    .struct_size = sizeof(tenon_options_v1),
    .num_specs = sizeof good_specs / sizeof good_specs[0],
    .specs = good_specs,
    .set_option = ZOO_SET_OPTION,
    .get_option = ZOO_GET_OPTION,
};
static const tenon_memory_info_v1 zoo_memory_info = {
    .struct_size = sizeof(tenon_memory_info_v1),
    .memory_info = ZOO_MEMORY_INFO,
};
static const tenon_sessions_v1 zoo_sessions = {
    .struct_size = sizeof(tenon_sessions_v1),
    .create_session = ZOO_CREATE_SESSION,
};
static const tenon_check_blob_v1 zoo_check_blob = {
    .struct_size = sizeof(tenon_check_blob_v1),
    .check_blob = ZOO_CHECK_BLOB,
};

static inline const void* good_get_extension(tenon_backend* backend, const char* id) {
  (void)backend;
  ZOO_EXTENSIONS(id);
  if (strcmp(id, TENON_EXTENSION_OPTIONS) == 0) return &zoo_options;
  if (strcmp(id, TENON_EXTENSION_MEMORY_INFO) == 0) return &zoo_memory_info;
  if (strcmp(id, TENON_EXTENSION_SESSIONS) == 0) return &zoo_sessions;
  if (strcmp(id, TENON_EXTENSION_CHECK_BLOB) == 0) return &zoo_check_blob;
  return NULL;
}

static const tenon_backend_api zoo_api = {
    .struct_size = ZOO_API_SIZE,
    .open = ZOO_OPEN,
    .close = ZOO_CLOSE,
    .is_available = ZOO_IS_AVAILABLE,
    .init = ZOO_INIT,
    .execute = ZOO_EXECUTE,
    .destroy = ZOO_DESTROY,
    .get_extension = ZOO_GET_EXTENSION,
};

typedef struct zoo_object {
  tenon_plugin_head head;
  ZOO_RECORD_TYPE records[ZOO_NUM_RECORDS];
  tenon_plugin_body body;
  const tenon_backend_api* tables[ZOO_NUM_RECORDS];
} zoo_object;

#define ZOO_RECORD                                 \
  {.struct_size = ZOO_RECORD_SIZE,                 \
   .min_payload_version = ZOO_MIN_PAYLOAD_VERSION, \
   .max_payload_version = 1,                       \
   .id = ZOO_ID,                                   \
   .tags = "cpu",                                  \
   .description = ZOO_DESCRIPTION,                 \
   .flags = ZOO_FLAGS}
#ifndef ZOO_RECORDS
#define ZOO_RECORDS {ZOO_RECORD}
#endif
#ifndef ZOO_TABLES
#define ZOO_TABLES {ZOO_TABLE}
#endif

extern ZOO_CONST zoo_object ZOO_SYMBOL;

TENON_EXPORT ZOO_CONST zoo_object ZOO_SYMBOL = {
    .head =
        {
            .magic = ZOO_MAGIC,
            .head_size = sizeof(tenon_plugin_head),
            .object_size = sizeof(zoo_object),
            .abi_major = TENON_ABI_MAJOR,
            .abi_minor = TENON_ABI_MINOR,
            .min_host_abi_minor = 0,
            .pointer_size = ZOO_POINTER_SIZE,
            .little_endian = ZOO_LITTLE_ENDIAN,
            .num_backends = ZOO_NUM_BACKENDS,
            .records_offset = offsetof(zoo_object, records),
            .record_size = sizeof(tenon_backend_record),
            .body_offset = ZOO_BODY_OFFSET,
            .name = "zoo",
            .version = ZOO_VERSION,
            .vendor = "Tenon",
            .sdk_version = TENON_VERSION_STRING,
        },
    .records = ZOO_RECORDS,
    .body = {.struct_size = sizeof(tenon_plugin_body),
             .num_backends = ZOO_NUM_TABLES,
             .backends = ZOO_SYMBOL.tables},
    .tables = ZOO_TABLES,
};

#endif  // TENON_ZOO_GOOD_PLUGIN_H
