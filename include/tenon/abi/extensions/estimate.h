// SPDX-License-Identifier: MIT
//
// Extension "tenon.estimate/1" of a backend: how much memory a blob will take. Answered without the
// device, so that an application knows whether a program fits before it loads one, and a host with
// a budget (MethodOptions::budget) refuses what does not.

#ifndef TENON_ABI_EXTENSIONS_ESTIMATE_H
#define TENON_ABI_EXTENSIONS_ESTIMATE_H

#include <stdint.h>

#include "tenon/abi/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXTENSION_ESTIMATE "tenon.estimate/1"

enum {
  TENON_MEMORY_WEIGHTS = 0,    ///< Constants and code, which all sessions of a delegate share.
  TENON_MEMORY_WORKSPACE = 1,  ///< All else that a delegate holds.
  TENON_MEMORY_SESSION = 2,    ///< Of each further session ("tenon.sessions/1").
};

/// As `nbytes`: memory of this kind is needed, and how much cannot be known without a run. It
/// counts as none, and TN-EST-2 does not hold then.
#define TENON_MEMORY_UNKNOWN UINT64_MAX

/// Bytes of one kind on one device. Several of one kind and device add up.
///
/// They are the most that is held at any time from `init` to `destroy`, for the largest sizes that
/// the blob accepts, of what the backend and the libraries below it take, from the system, from a
/// device, and from the runtime allocator. Not counted are: the blob and named data where they are
/// used in place, planned memory, memory from the temp allocator, and what the process takes once
/// for all delegates, as the code of libraries.
typedef struct tenon_memory_need {
  uint32_t struct_size;
  uint32_t kind;           ///< TENON_MEMORY_... Others are ignored.
  tenon_dl_device device;  ///< TENON_DL_CPU is the memory of the process.
  uint64_t nbytes;
} tenon_memory_need;

/// Receives one need; `need` is valid until the function returns.
///
/// [any, never] Inside the call that it was given to.
typedef void (*tenon_memory_sink)(void* context, const tenon_memory_need* need);

typedef struct tenon_estimate_v1 {
  uint32_t struct_size;
  uint32_t reserved;

  /// Passes what a delegate of `context->processed` would need to `sink`; nothing is no bytes.
  /// Options are those of `context`, as in `init`. NOT_SUPPORTED when it cannot be known without
  /// loading the blob.
  ///
  ///   TN-EST-1  `estimate` MUST NOT need the device, MUST NOT release `processed`, and MUST hold
  ///             nothing more after it has returned.
  ///   TN-EST-2  A delegate MUST NOT hold more memory than was estimated, times the factor that its
  ///             author states.
  ///   TN-EST-3  An estimate MUST NOT be more than what a delegate holds after its runs, times the
  ///             factor that its author states.
  tenon_status (*estimate)(tenon_backend* backend, const tenon_init_context* context,
                           tenon_memory_sink sink, void* sink_context);

  /// Writes the bytes of `device` that are free to `*nbytes`: asks the device. NULL in a backend
  /// that cannot say, NOT_SUPPORTED for a device that it cannot say it of.
  tenon_status (*free_memory)(tenon_backend* backend, tenon_dl_device device, uint64_t* nbytes);
} tenon_estimate_v1;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_EXTENSIONS_ESTIMATE_H
