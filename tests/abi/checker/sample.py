# SPDX-License-Identifier: MIT
"""A small boundary for tests of the checker: each kind of declaration once."""

SAMPLE, VERSION, HOST = "tenon/abi/sample.h", "tenon/abi/version.h", "tenon/host/c/tenon_host.h"
DRAFT, PRIVATE = "tenon/abi/draft/draft.h", "tenon/abi/private/private.h"

# Split, as the rules of these headers are none of Tenon's.
RULE = "TN-" "SMP-"

HEADERS = {
    VERSION: """
#ifndef TENON_ABI_VERSION_H
#define TENON_ABI_VERSION_H
#define TENON_ABI_MAJOR 1
#define TENON_ABI_MINOR 0
#define TENON_VERSION_STRING "0.1.0"
#endif
""",
    SAMPLE: """
// A comment.
#ifndef TENON_ABI_SAMPLE_H
#define TENON_ABI_SAMPLE_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#if defined(_WIN32)
#define TENON_CALL __cdecl
#else
#define TENON_CALL
#endif
#define TENON_EXTENSION_SAMPLE "tenon.sample/1"
#define TENON_SAMPLE_LIMIT 1024
#define TENON_SAMPLE_HAS(object, member) ((object)->member != 0)
typedef uint32_t tenon_status;
typedef struct tenon_thing tenon_thing;
enum { TENON_RED, TENON_GREEN, TENON_BLUE = 1u << 4 };
typedef struct tenon_pair {
  int32_t first;
  int32_t second;
} tenon_pair;

/// What can grow.
///
///   @RULE@1  A point MUST have a name
///             that is not empty.
///   @RULE@2  A point MUST NOT have a count.
typedef struct tenon_point {
  uint32_t struct_size;
  uint16_t kind;
  uint16_t flags;
  const char* name;  ///< Of the point.
  uint64_t count;
} tenon_point;
typedef struct tenon_inner {
  uint32_t struct_size;
  uint32_t value;
} tenon_inner;
typedef struct tenon_middle {
  uint32_t struct_size;
  uint32_t value;
} tenon_middle;
typedef struct tenon_outer {
  uint32_t struct_size;
  tenon_middle middle;
  uint32_t number;
  union {
    int64_t integer;
    tenon_pair pair;
  } as;
  tenon_inner inner;
} tenon_outer;
typedef void(TENON_CALL* tenon_sink)(void* context, const tenon_point* point);
typedef struct tenon_table {
  uint32_t struct_size;
  uint32_t reserved;
  /// Copies.
  tenon_status(TENON_CALL* copy)(tenon_thing* thing, uint64_t nbytes, uint64_t alignment);
} tenon_table;
typedef struct tenon_by_value {
  uint32_t struct_size;
  uint32_t reserved;
} tenon_by_value;
typedef void(TENON_CALL* tenon_taker)(tenon_by_value value);
#ifdef __cplusplus
}
#endif
#endif
""",
    DRAFT: """
#define TENON_EXTENSION_DRAFT "tenon.draft_of_tests/1"
typedef struct tenon_drafted {
  uint32_t struct_size;
  uint32_t reserved;
} tenon_drafted;
""",
    PRIVATE: """
typedef struct tenon_inside {
  uint64_t count;
  uint32_t counted;
} tenon_inside;
""",
    HOST: """
#define TENON_C_MAJOR 1
#define TENON_C_MINOR 0
#define TENON_HOST_API __attribute__((visibility("default")))
TENON_HOST_API uint32_t tenon_c_version(void);
TENON_HOST_API tenon_status tenon_run(const tenon_point* point, uint64_t count);
""",
}


def write(include):
    """Writes the headers into a folder."""
    for name, text in HEADERS.items():
        path = include / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("@RULE@", RULE), encoding="utf-8")
