/* SPDX-License-Identifier: MIT */

/* A plugin in plain C with its object filled by hand. It is only ever read, never loaded. */

#include <stddef.h>
#include <stdint.h>
#ifdef TEST_ABORT_WHEN_LOADED
#include <stdlib.h>
#endif

#include "tenon/abi/plugin.h"

#ifdef TEST_ABORT_WHEN_LOADED
__attribute__((constructor)) static void abort_when_loaded(void) { abort(); }
#endif

typedef struct test_plugin {
  tenon_plugin_head head;
  tenon_backend_record records[2];
  tenon_plugin_body body;
  const tenon_backend_api* backends[2];
} test_plugin;

static const tenon_backend_api no_functions = {.struct_size = sizeof(tenon_backend_api)};

extern const test_plugin tenon_plugin_v1;

__attribute__((visibility("default"))) const test_plugin tenon_plugin_v1 = {
    .head =
        {
            .magic = TENON_PLUGIN_MAGIC,
            .head_size = sizeof(tenon_plugin_head),
            .object_size = sizeof(test_plugin),
            .abi_major = TENON_ABI_MAJOR,
            .abi_minor = TENON_ABI_MINOR,
            .min_host_abi_minor = 0,
            .pointer_size = sizeof(void*),
            .little_endian = 1,
            .num_backends = 2,
            .records_offset = offsetof(test_plugin, records),
            .record_size = sizeof(tenon_backend_record),
            .body_offset = offsetof(test_plugin, body),
            .name = "arithmetic",
            .version = "1.2.3",
            .vendor = "Tenon tests",
            .sdk_version = TENON_VERSION_STRING,
        },
    .records =
        {
            {
                .struct_size = sizeof(tenon_backend_record),
                .priority = -3,
                .min_payload_version = 1,
                .max_payload_version = 4,
                .id = "AddBackend",
                .tags = "experimental, cpu",
                .cpu_features = "avx2,fma",
                .description = "Adds two tensors.",
            },
            {
                .struct_size = sizeof(tenon_backend_record),
                .id = "MulBackend",
            },
        },
    .body =
        {
            .struct_size = sizeof(tenon_plugin_body),
            .num_backends = 2,
            .backends = tenon_plugin_v1.backends,
        },
    .backends = {&no_functions, &no_functions},
};
