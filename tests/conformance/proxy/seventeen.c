// SPDX-License-Identifier: MIT
// One backend more than a proxy supports. None of them can be opened.
#include <stddef.h>

#include "tenon/abi/tenon.h"

enum { NUM_BACKENDS = 17 };

static tenon_status never_open(const tenon_host* host, tenon_backend** out) {
  static const char text[] = "these backends are only counted";
  (void)out;
  host->set_last_error(host, TENON_STATUS_NOT_SUPPORTED, text, sizeof text - 1);
  return TENON_STATUS_NOT_SUPPORTED;
}

static const tenon_backend_api api = {.struct_size = sizeof(tenon_backend_api), .open = never_open};

#define RECORD(name) {.struct_size = sizeof(tenon_backend_record), .id = name}

struct object {
  tenon_plugin_head head;
  tenon_backend_record records[NUM_BACKENDS];
  tenon_plugin_body body;
  const tenon_backend_api* backends[NUM_BACKENDS];
};

TENON_EXPORT extern const struct object tenon_plugin_v1;
const struct object tenon_plugin_v1 = {
    .head =
        {
            .magic = TENON_PLUGIN_MAGIC,
            .head_size = sizeof(tenon_plugin_head),
            .object_size = sizeof(struct object),
            .abi_major = TENON_ABI_MAJOR,
            .abi_minor = TENON_ABI_MINOR,
            .pointer_size = sizeof(void*),
            .little_endian = 1,
            .num_backends = NUM_BACKENDS,
            .records_offset = offsetof(struct object, records),
            .record_size = sizeof(tenon_backend_record),
            .body_offset = offsetof(struct object, body),
            .name = "seventeen",
        },
    .records = {RECORD("A"), RECORD("B"), RECORD("C"), RECORD("D"), RECORD("E"), RECORD("F"),
                RECORD("G"), RECORD("H"), RECORD("I"), RECORD("J"), RECORD("K"), RECORD("L"),
                RECORD("M"), RECORD("N"), RECORD("O"), RECORD("P"), RECORD("Q")},
    .body = {.struct_size = sizeof(tenon_plugin_body),
             .num_backends = NUM_BACKENDS,
             .backends = tenon_plugin_v1.backends},
    .backends = {&api, &api, &api, &api, &api, &api, &api, &api, &api, &api, &api, &api, &api, &api,
                 &api, &api, &api},
};
