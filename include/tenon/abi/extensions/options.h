// SPDX-License-Identifier: MIT
//
// Extension "tenon.options/1" of a backend: a declared set of typed options. The SDK checks every
// value against the declaration before the author's code sees it.

#ifndef TENON_ABI_EXTENSIONS_OPTIONS_H
#define TENON_ABI_EXTENSIONS_OPTIONS_H

#include <stdint.h>

#include "tenon/abi/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXTENSION_OPTIONS "tenon.options/1"

// Where an option may be given, one bit each.
enum {
  TENON_OPTION_AT_RUNTIME = 1u << 0,  ///< `set_option`, for all later loads.
  TENON_OPTION_AT_LOAD = 1u << 1      ///< As a runtime spec of one load.
};

/// Declaration of one option. All elements of an array of them have one size (TN-BCK-11).
typedef struct tenon_option_spec {
  uint32_t struct_size;
  uint32_t flags;           ///< TENON_OPTION_AT_...
  const char* description;  ///< One line for a person, NUL-terminated.
  tenon_option initial;     ///< Key, type and the value it has before it is set. Last for ever, so
                            ///< that `tenon_option` may grow.
} tenon_option_spec;

/// Receives one option; `option` is valid until the function returns.
///
/// [any, never] Inside the call that it was given to.
typedef void (*tenon_option_sink)(void* context, const tenon_option* option);

/// The options of a backend.
///
///   TN-OPT-3  An option of one load MUST NOT change another load, or the value that `get_option`
///             gives.
typedef struct tenon_options_v1 {
  uint32_t struct_size;
  uint32_t num_specs;
  const tenon_option_spec* specs;  ///< Constant, valid until unload.

  /// Sets one option for all later loads. A value out of range is refused with INVALID_ARGUMENT,
  /// here and by `init`.
  ///
  ///   TN-OPT-1  MUST refuse an unknown key with NOT_FOUND, a value of the wrong type with
  ///             INVALID_TYPE, a key that cannot be set this way with NOT_SUPPORTED; nothing
  ///             changes then. The text names the key, and what was expected and found.
  ///   TN-OPT-4  MUST NOT change the outputs of a delegate that is loaded.
  tenon_status (*set_option)(tenon_backend* backend, const tenon_option* option);

  /// Passes the present value of `key` to `sink`.
  ///
  ///   TN-OPT-2  MUST call `sink` exactly once on success and not at all on failure; an unknown key
  ///             is NOT_FOUND.
  tenon_status (*get_option)(tenon_backend* backend, const char* key, tenon_option_sink sink,
                             void* context);
} tenon_options_v1;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_EXTENSIONS_OPTIONS_H
