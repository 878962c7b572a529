// SPDX-License-Identifier: MIT
// Breaks TN-BIN-3: the payload versions of its record are an address, which only the loader knows.
#include "good.h"

/// A `tenon_backend_record` with an address for `min_payload_version` and `max_payload_version`.
typedef struct relocated_record {
  uint32_t struct_size;
  int32_t priority;
  const void* address;
  char id[TENON_ID_SIZE];
  char tags[TENON_TEXT_SIZE];
  char cpu_features[TENON_FEATURES_SIZE];
  char description[TENON_TEXT_SIZE];
  uint32_t flags;
  uint32_t reserved;
} relocated_record;
_Static_assert(sizeof(relocated_record) == sizeof(tenon_backend_record), "sizes differ");
_Static_assert(offsetof(relocated_record, address) ==
                   offsetof(tenon_backend_record, min_payload_version),
               "members differ");

// Defined in another library, so that the file holds zeros in its place.
#define ZOO_RECORD_TYPE relocated_record
#define ZOO_RECORDS                                                                    \
  {                                                                                    \
    {                                                                                  \
      .struct_size = sizeof(relocated_record), .address = &stdout, .id = "ZooBackend", \
      .tags = "cpu", .description = "Adds tensors",                                    \
    }                                                                                  \
  }
#include "good_plugin.h"
