// SPDX-License-Identifier: MIT
//
// What the two sources of the plugin share. It includes the boundary alone, and no C++ of the SDK.

#ifndef SCALE_BIAS_H
#define SCALE_BIAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tenon/abi/tenon.h"

// A blob is 20 bytes, little-endian: "SCLB", the version, a, b, and the most elements of a tensor.
enum { BLOB_SIZE = 20, BLOB_VERSION = 1, MOST_ELEMENTS = 1 << 20 };

typedef struct {
  float a;
  float b;
  uint32_t count;
} Blob;

/// The header leaves the two opaque types to the plugin, which defines them.
struct tenon_backend {
  const tenon_host* host;
  const tenon_cancel_flag_v1* cancel_flag;  ///< NULL in a host that cannot cancel.
  _Atomic double gain;                      ///< The option, which is set while other threads load.
};

struct tenon_delegate {
  Blob blob;
  float gain;
  const char* memory_kind;  ///< TENON_MEMORY_WORKSPACE, or TENON_MEMORY_SESSION of a session.
  float sums[];             ///< The state: for each element, the sum of its inputs so far.
};

#if defined(__GNUC__)
#define PRINTF_LIKE __attribute__((format(printf, 3, 4)))
#else
#define PRINTF_LIKE
#endif

/// Gives the host the reason of a failure, and returns `status`.
tenon_status fail(const tenon_host* host, tenon_status status, const char* format, ...) PRINTF_LIKE;

tenon_status read_blob(const tenon_host* host, const tenon_buffer* buffer, Blob* out);
uint64_t delegate_bytes(uint32_t count);

/// A delegate with the state that `init` gives; NULL when there is no memory.
tenon_delegate* new_delegate(Blob blob, float gain, const char* memory_kind);

#define INITIAL_GAIN 1.0

/// Writes the gain of the options of a load to `*gain`, which stays where there is none.
tenon_status read_gain(const tenon_host* host, const tenon_option* options, uint32_t num_options,
                       double* gain);
const void* TENON_CALL get_extension(tenon_backend* backend, const char* id);

#endif  // SCALE_BIAS_H
