// SPDX-License-Identifier: MIT
//
// Extension "tenon.estimate/1" of a backend: how much memory a blob will take. Answered without the
// device, so that an application knows whether a program fits before it loads one, and a host with
// a budget (the layer `Budget`) refuses what does not.

#ifndef TENON_ABI_EXTENSIONS_ESTIMATE_H
#define TENON_ABI_EXTENSIONS_ESTIMATE_H

#include <stdint.h>

#include "tenon/abi/backend.h"
#include "tenon/abi/memory_use.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXTENSION_ESTIMATE "tenon.estimate/1"

typedef struct tenon_estimate_v1 {
  uint32_t struct_size;
  uint32_t reserved;

  /// Passes the memory that a delegate of `context->processed` would need to `sink`: the most that
  /// it holds at any time from `init` to `destroy`, for the largest sizes that the blob accepts.
  /// TENON_MEMORY_SESSION is the need of each further session, and no part of the other kinds. A
  /// delegate that needs nothing calls no sink. With TENON_MEMORY_UNKNOWN among the kinds TN-EST-2
  /// does not hold.
  ///
  /// `context` has the options of the load, as in `init` (abi/extensions/options.h). NOT_SUPPORTED
  /// when only a load shows the need.
  ///
  ///   TN-EST-1  `estimate` MUST NOT need the device, MUST NOT release `processed`, MUST hold
  ///             nothing more after it has returned, and MUST give each use a `kind` in UTF-8
  ///             without control characters.
  ///   TN-EST-2  A delegate MUST NOT hold more memory than was estimated, times the factor that its
  ///             author states.
  ///   TN-EST-3  An estimate MUST NOT be more than what a delegate holds after its runs, times the
  ///             factor that its author states.
  tenon_status(TENON_CALL* estimate)(tenon_backend* backend, const tenon_init_context* context,
                                     tenon_memory_sink sink, void* sink_context);

  /// Writes the bytes of `device` that are free to `*nbytes`: asks the device. NULL in a backend
  /// that cannot say, NOT_SUPPORTED for a device that it cannot say it of.
  tenon_status(TENON_CALL* free_memory)(tenon_backend* backend, tenon_dl_device device,
                                        uint64_t* nbytes);
} tenon_estimate_v1;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_EXTENSIONS_ESTIMATE_H
