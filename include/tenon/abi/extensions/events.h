// SPDX-License-Identifier: MIT
//
// Extension "tenon.events/1" of a backend: runs that are started and not waited for, and events
// that say when they are done. A host waits for an event, or passes it on to another delegate.

#ifndef TENON_ABI_EXTENSIONS_EVENTS_H
#define TENON_ABI_EXTENSIONS_EVENTS_H

#include <stdint.h>

#include "tenon/abi/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXTENSION_EVENTS "tenon.events/1"

// Kinds of native handles, in `tenon_events_v1.kind`. A vendor's own begin with the vendor's name
// ("acme.fence").
#define TENON_EVENT_KIND_CUDA "cuda.event"    ///< `CUevent`, which is also `cudaEvent_t`.
#define TENON_EVENT_KIND_METAL "metal.event"  ///< `tenon_metal_event`.

/// A native handle of the kind "metal.event": complete when the shared event has this value, or a
/// larger one.
typedef struct tenon_metal_event {
  void* shared_event;  ///< `MTLSharedEvent`.
  uint64_t value;      ///< Of its `signaledValue`.
} tenon_metal_event;

/// A point in the work of a delegate, or none yet. Opaque to the host. Belongs to the backend and
/// may outlive the delegate.
typedef struct tenon_event tenon_event;

/// Functions of a backend whose runs can be started.
///
///   TN-EVT-1  Every function of the table MUST be there, except that `export_handle` and
///             `import_handle` are NULL exactly when `kind` is.
typedef struct tenon_events_v1 {
  uint32_t struct_size;
  uint32_t reserved;

  /// Kind of the native handles of this backend's events (TENON_EVENT_KIND_CUDA); NULL when they
  /// have none. Constant, NUL-terminated.
  const char* kind;

  /// Makes an event that marks nothing yet: it is complete.
  ///
  /// [any, gives: `destroy_event`] `*out` is valid until `destroy_event`.
  tenon_status (*create_event)(tenon_backend* backend, tenon_event** out);

  /// Starts one run, with the arguments of `execute`, and may return before it is done. Runs of one
  /// delegate, also those of `execute`, happen in the order of their calls; a backend that cannot
  /// keep a second run waits for the first one. `context`, its temporary memory, `args`, its values
  /// and everything in them but the bytes of tensors are for this call alone.
  ///
  ///   TN-EVT-2  A failure of `start` MUST leave no work behind.
  ///   TN-EVT-3  `start` MUST give the outputs their sizes, and write values that are no tensors,
  ///             before it returns.
  ///   TN-EVT-4  The outputs MUST be complete, in the host's memory as well, when an event that was
  ///             recorded after `start` is complete.
  ///   TN-EVT-5  After that event is complete the plugin MUST NOT read or write the bytes of the
  ///             arguments, nor call the host for the run.
  ///   TN-EVT-6  A run MUST fulfil the rules of `execute`, with that event in place of its return.
  ///   TN-EVT-7  A host MUST keep the bytes of all arguments valid, and those of inputs unchanged,
  ///             until that event is complete.
  ///   TN-EVT-14 `destroy` of a delegate MUST NOT return before what was started on it is done.
  ///
  /// [per-delegate] From `init` to `destroy` of `delegate`.
  tenon_status (*start)(tenon_backend* backend, tenon_delegate* delegate,
                        const tenon_execution_context* context, tenon_value* const* args,
                        uint32_t num_args);

  /// From now on `event` marks the runs of `delegate` so far, and nothing that it marked
  /// before. It is complete when they are done. No other call uses `event` meanwhile.
  ///
  /// [per-delegate] From `create_event` to `destroy_event`; not for an imported event.
  tenon_status (*record)(tenon_backend* backend, tenon_delegate* delegate, tenon_event* event);

  /// Returns when `event` is complete: OK, or the failure of the last run before `record`.
  ///
  ///   TN-EVT-8  A run that fails after `start` MUST fail each `wait` for an event that was
  ///             recorded before the next run was started, with a text. The next run with good
  ///             arguments MUST succeed.
  ///
  /// [any] From `create_event` or `import_handle` to `destroy_event`.
  tenon_status (*wait)(tenon_backend* backend, tenon_event* event);

  /// Writes 1 to `*is_complete` when `event` is complete, also after a failure, and 0 otherwise.
  ///
  ///   TN-EVT-9  MUST report an event as complete that was not recorded, or that `wait` has
  ///             returned for.
  ///
  /// [any] From `create_event` or `import_handle` to `destroy_event`.
  tenon_status (*query)(tenon_backend* backend, tenon_event* event, uint32_t* is_complete);

  /// Runs of `delegate` that are started from now on begin after `event`, of this backend, is
  /// complete. The host does not wait, and need not keep `event`, which is not recorded meanwhile.
  ///
  ///   TN-EVT-10 A run MUST NOT begin before each event that `wait_on` named is complete, also when
  ///             such an event has been destroyed or recorded again. It begins also when what the
  ///             event marks has failed.
  ///
  /// [per-delegate] From `create_event` or `import_handle` to `destroy_event`.
  tenon_status (*wait_on)(tenon_backend* backend, tenon_delegate* delegate, tenon_event* event);

  /// The native handle of `event`, valid until `event` is destroyed.
  ///
  /// [any] From `create_event` to `destroy_event`.
  tenon_status (*export_handle)(tenon_backend* backend, tenon_event* event, void** out);

  /// Makes an event of a native handle of this backend's kind, which remains its owner's and stays
  /// valid until the new event is destroyed. It marks what the handle marks now.
  ///
  ///   TN-EVT-11 MUST refuse a handle that is NULL with INVALID_ARGUMENT.
  ///
  /// [any, gives: `destroy_event`] `*out` is valid until `destroy_event`.
  tenon_status (*import_handle)(tenon_backend* backend, void* handle, tenon_event** out);

  /// Frees an event, NULL included, whether it is complete or not. No other call uses it meanwhile.
  ///
  ///   TN-EVT-12 `destroy_event` MUST NOT disturb the run that it marks.
  ///   TN-EVT-13 A host MUST destroy every event before `close`.
  ///
  /// [any, takes, never] Once for each `create_event` or `import_handle`, before or after the
  /// delegate's `destroy`.
  void (*destroy_event)(tenon_backend* backend, tenon_event* event);
} tenon_events_v1;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_EXTENSIONS_EVENTS_H
