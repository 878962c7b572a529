// SPDX-License-Identifier: MIT
//
// Extension "tenon.options/1" of a backend: a declared set of typed options.

#ifndef TENON_ABI_EXTENSIONS_OPTIONS_H
#define TENON_ABI_EXTENSIONS_OPTIONS_H

#include <stdint.h>

#include "tenon/abi/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXTENSION_OPTIONS "tenon.options/1"

// Facts about an option, one bit each. Bits that are not known are ignored.
enum {
  TENON_OPTION_AT_RUNTIME = 1u << 0,  ///< May be given to `set_option`, for all later loads.
  TENON_OPTION_AT_LOAD = 1u << 1,     ///< May be given as a runtime spec of one load.
  /// Still works, and will be removed; the description names the replacement.
  TENON_OPTION_DEPRECATED = 1u << 2
};

/// Declaration of one option. All elements of an array of them have one size (TN-BCK-11).
typedef struct tenon_option_spec {
  uint32_t struct_size;
  uint32_t flags;           ///< TENON_OPTION_...
  const char* description;  ///< One line for a person, NUL-terminated.
  const char* unit;         ///< Unit of the value ("ms", "bytes"), NUL-terminated; NULL: no unit.

  /// The key, the type, and the value before the option is set. Never NULL.
  const tenon_option* initial;

  /// The smallest and the largest value of an INT or a DOUBLE, both allowed. They have the type of
  /// `initial`; their keys are ignored. NULL: any value up to the other limit. NaN is outside of
  /// each range. NULL for other types.
  const tenon_option* minimum;
  const tenon_option* maximum;

  /// All values of a STRING, each NUL-terminated. NULL: any text. NULL for other types.
  const char* const* choices;
  uint32_t num_choices;  ///< 0 when `choices` is NULL.
  uint32_t reserved;
} tenon_option_spec;

/// Receives one option; `option` is valid until the function returns.
///
/// [any, never] Inside the call that it was given to.
typedef void(TENON_CALL* tenon_option_sink)(void* context, const tenon_option* option);

/// The options of a backend.
///
/// A host passes each value on as it is: the backend compares it with the declaration.
///
///   TN-OPT-3  An option of one load MUST NOT change another load, or the value that `get_option`
///             gives.
///   TN-OPT-5  `set_option`, `init` and `create_session` MUST refuse a value that the option's
///             declaration excludes (`minimum`, `maximum`, `choices`) with INVALID_ARGUMENT and a
///             text that names the key; nothing changes then. `create_session` may refuse it with
///             NOT_SUPPORTED instead.
///
/// A backend refuses a value that it cannot use for another reason with INVALID_ARGUMENT, too.
/// `set_option` is the one that TN-OPT-1 is about. `init` may ignore an option that is not
/// declared, or that has another type or another place; if it fails instead, the statuses are the
/// same. `check_blob` and `estimate` refuse an option as `init` does, or ignore it where it does
/// not change their answer.
typedef struct tenon_options_v1 {
  uint32_t struct_size;
  uint32_t num_specs;
  const tenon_option_spec* specs;  ///< Constant, valid until unload.

  /// Sets one option for all later loads.
  ///
  ///   TN-OPT-1  MUST refuse an unknown key with NOT_FOUND, a value of the wrong type with
  ///             INVALID_TYPE, a key that cannot be set this way with NOT_SUPPORTED; nothing
  ///             changes then. The text names the key, and what was expected and found.
  ///   TN-OPT-4  MUST NOT change the outputs of a delegate that is loaded.
  tenon_status(TENON_CALL* set_option)(tenon_backend* backend, const tenon_option* option);

  /// Passes the present value of `key` to `sink`.
  ///
  ///   TN-OPT-2  MUST call `sink` exactly once on success and not at all on failure; an unknown key
  ///             is NOT_FOUND.
  tenon_status(TENON_CALL* get_option)(tenon_backend* backend, const char* key,
                                       tenon_option_sink sink, void* context);
} tenon_options_v1;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_EXTENSIONS_OPTIONS_H
