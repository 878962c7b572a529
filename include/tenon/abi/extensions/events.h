// SPDX-License-Identifier: MIT
//
// Extension "tenon.events/1" of a backend: runs that are started and not waited for, and events
// that say when they are done. A host waits for an event, or passes it on to another delegate.

#ifndef TENON_ABI_EXTENSIONS_EVENTS_H
#define TENON_ABI_EXTENSIONS_EVENTS_H

#include <stdint.h>

#include "tenon/abi/backend.h"
#include "tenon/abi/native_handle.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXTENSION_EVENTS "tenon.events/1"

/// A point in the work of a delegate, or none yet. Opaque to the host. Belongs to the backend and
/// may outlive the delegate.
typedef struct tenon_event tenon_event;

/// A host's function for an event that is complete. Called on any thread of the plugin or its
/// driver.
typedef void(TENON_CALL* tenon_event_function)(void* data);

/// As a limit of `wait`: none.
#define TENON_NO_TIMEOUT UINT64_MAX

/// Functions of a backend whose runs can be started.
///
///   TN-EVT-1  Every function of the table MUST be there, except that `export_handle` and
///             `import_handle` are NULL exactly when `kind` is, and that `on_complete` may be NULL.
typedef struct tenon_events_v1 {
  uint32_t struct_size;
  uint32_t reserved;

  /// Kind of the native handles of this backend's events (TENON_KIND_CUDA_EVENT,
  /// abi/native_handle.h); NULL when they have none. Constant.
  const char* kind;

  /// Makes an event that marks nothing yet: it is complete.
  ///
  /// [any, gives: `destroy_event`] `*out` is valid until `destroy_event`.
  tenon_status(TENON_CALL* create_event)(tenon_backend* backend, tenon_event** out);

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
  tenon_status(TENON_CALL* start)(tenon_backend* backend, tenon_delegate* delegate,
                                  const tenon_execution_context* context, tenon_value* const* args,
                                  uint32_t num_args);

  /// From now on `event` marks the runs of `delegate` so far, and nothing that it marked
  /// before. It is complete when they are done. No other call uses `event` meanwhile.
  ///
  /// [per-delegate] From `create_event` to `destroy_event`; not for an imported event.
  tenon_status(TENON_CALL* record)(tenon_backend* backend, tenon_delegate* delegate,
                                   tenon_event* event);

  /// Returns when `event` is complete: OK, or the failure of the last run before `record`. Returns
  /// TIMED_OUT when `event` is not complete after `timeout_ns` nanoseconds; 0 does not wait, and
  /// TENON_NO_TIMEOUT is no limit. The limit is a lower bound: a late return is no failure.
  ///
  ///   TN-EVT-8  A run that fails after `start` MUST fail, once it is complete, each `wait` for an
  ///             event that was recorded before the next run was started, with a text. The next run
  ///             with good arguments MUST succeed.
  ///   TN-EVT-15 A `wait` whose limit passes MUST leave `event` and what it marks as they were. An
  ///             event that is complete, and a `wait` without limit, MUST NOT be TIMED_OUT.
  ///
  /// [any] From `create_event` or `import_handle` to `destroy_event`.
  tenon_status(TENON_CALL* wait)(tenon_backend* backend, tenon_event* event, uint64_t timeout_ns);

  /// Writes 1 to `*is_complete` when `event` is complete, also after a failure, and 0 otherwise.
  ///
  ///   TN-EVT-9  MUST report an event as complete that was not recorded, or that `wait` has
  ///             returned for.
  ///
  /// [any] From `create_event` or `import_handle` to `destroy_event`.
  tenon_status(TENON_CALL* query)(tenon_backend* backend, tenon_event* event,
                                  uint32_t* is_complete);

  /// Runs of `delegate` that are started from now on begin after `event`, of this backend, is
  /// complete. The host does not wait, and need not keep `event`, which is not recorded meanwhile.
  ///
  ///   TN-EVT-10 A run MUST NOT begin before each event that `wait_on` named is complete, also when
  ///             such an event has been destroyed or recorded again. It begins also when what the
  ///             event marks has failed.
  ///
  /// [per-delegate] From `create_event` or `import_handle` to `destroy_event`.
  tenon_status(TENON_CALL* wait_on)(tenon_backend* backend, tenon_delegate* delegate,
                                    tenon_event* event);

  /// The native handle of `event`, valid until `event` is destroyed.
  ///
  /// [any] From `create_event` to `destroy_event`.
  tenon_status(TENON_CALL* export_handle)(tenon_backend* backend, tenon_event* event, void** out);

  /// Makes an event of a native handle of this backend's kind, which remains its owner's and stays
  /// valid until the new event is destroyed. It marks what the handle marks now.
  ///
  ///   TN-EVT-11 MUST refuse a handle that is NULL with INVALID_ARGUMENT.
  ///
  /// [any, gives: `destroy_event`] `*out` is valid until `destroy_event`.
  tenon_status(TENON_CALL* import_handle)(tenon_backend* backend, void* handle, tenon_event** out);

  /// Frees an event, NULL included, whether it is complete or not. No other call uses it meanwhile.
  ///
  ///   TN-EVT-12 `destroy_event` MUST NOT disturb the run that it marks.
  ///   TN-EVT-13 A host MUST destroy every event before `close`.
  ///
  /// [any, takes, never] Once for each `create_event` or `import_handle`, before or after the
  /// delegate's `destroy`.
  void(TENON_CALL* destroy_event)(tenon_backend* backend, tenon_event* event);

  /// Has `function` called with `data` when `event` is complete, also after a failure, which `wait`
  /// then returns at once. Several may be asked for. NULL in a backend that cannot: a host then
  /// waits on a thread of its own.
  ///
  ///   TN-EVT-16 `function` MUST be called exactly once for an `on_complete` that succeeds, and
  ///             never for one that fails. It may be called inside of `on_complete`.
  ///   TN-EVT-17 `function` MUST NOT be called before `event` is complete.
  ///   TN-EVT-18 A host MUST NOT call the backend in `function`, nor wait there for a thread that
  ///             does: drivers allow no more (CUDA's host functions call nothing of CUDA).
  ///   TN-EVT-19 A host MUST NOT record or destroy `event` before `function` is called, and MUST
  ///             keep `data` valid until then. It may destroy `event` while `function` returns.
  ///
  /// [any] From `create_event` or `import_handle` to `destroy_event`.
  tenon_status(TENON_CALL* on_complete)(tenon_backend* backend, tenon_event* event,
                                        tenon_event_function function, void* data);
} tenon_events_v1;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_EXTENSIONS_EVENTS_H
