// SPDX-License-Identifier: MIT
//
// Extension "tenon.check_blob/1" of a backend: would this blob run here? Answered without the
// device, so that an application can choose a program before it loads one.

#ifndef TENON_ABI_EXTENSIONS_CHECK_BLOB_H
#define TENON_ABI_EXTENSIONS_CHECK_BLOB_H

#include <stdint.h>

#include "tenon/abi/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXTENSION_CHECK_BLOB "tenon.check_blob/1"

// Verdicts. A host takes a verdict that it does not know for TENON_BLOB_USABLE: `init` decides.
enum {
  TENON_BLOB_OPTIMAL = 0,      ///< Made for this backend and this machine.
  TENON_BLOB_USABLE = 1,       ///< Runs, but compiling again would be better.
  TENON_BLOB_INCOMPATIBLE = 2  ///< `init` refuses it.
};

typedef struct tenon_check_blob_v1 {
  uint32_t struct_size;
  uint32_t reserved;

  /// Judges `context->processed` for a load with the options of `context`, as `init` would get it.
  /// For a verdict other than OPTIMAL the backend gives the reason to `set_last_error`, whose
  /// status is then ignored. A backend that does not know gives USABLE.
  ///
  /// A failure is no verdict. `check_blob` fails only where `init` fails for another reason than
  /// the blob: there is no memory or no named data, or an option is refused
  /// (abi/extensions/options.h). A host that chooses among blobs leaves this one out, with the text
  /// as the reason. Any other host continues as without this extension: `init` decides.
  ///
  ///   TN-BLB-1  MUST NOT need the device, and MUST NOT release `processed`.
  ///   TN-BLB-2  For a blob that `init` loads with the same context, `check_blob` MUST give a
  ///             verdict other than INCOMPATIBLE.
  ///   TN-BLB-3  MUST call INCOMPATIBLE: a blob that `init` refuses with
  ///             DELEGATE_INVALID_COMPATIBILITY, and bytes that were not made for the backend.
  ///             Other damage may be left to `init`.
  ///   TN-COD-4  MUST NOT map code of the program; a host that is asked for it refuses.
  tenon_status(TENON_CALL* check_blob)(tenon_backend* backend, const tenon_init_context* context,
                                       uint32_t* verdict);
} tenon_check_blob_v1;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_EXTENSIONS_CHECK_BLOB_H
