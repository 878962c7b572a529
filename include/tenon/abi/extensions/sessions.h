// SPDX-License-Identifier: MIT
//
// Extension "tenon.sessions/1" of a backend: several independent states over one loaded blob, such
// as conversations that share the weights of one language model. A state is what a delegate keeps
// from one run to the next. A session is a live state; `tenon.sequence/1` (a draft) gives the bytes
// of one.

#ifndef TENON_ABI_EXTENSIONS_SESSIONS_H
#define TENON_ABI_EXTENSIONS_SESSIONS_H

#include <stdint.h>

#include "tenon/abi/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXTENSION_SESSIONS "tenon.sessions/1"

/// The argument of `create_session`. It, its options and its hints are valid until the call
/// returns.
typedef struct tenon_session_context {
  uint32_t struct_size;
  uint32_t num_runtime_specs;

  /// Options of this session, whose elements may be larger than `tenon_option` (TN-BCK-10). NULL
  /// when `num_runtime_specs` is 0. An option that is not given has the value with which `delegate`
  /// was loaded. A backend refuses one that it cannot change for a session, with NOT_SUPPORTED, and
  /// otherwise as in `init` (abi/extensions/options.h).
  const tenon_option* runtime_specs;

  /// The application's hints for the session; NULL when it gives none: the hints for `delegate`
  /// hold. `create_session` accepts every value, as `init` does (TN-SCH-1).
  const struct tenon_scheduling* scheduling;

  /// Memory until `destroy` of the session has returned. Never NULL.
  tenon_allocator* runtime_allocator;

  /// NULL for the state that `init` gave; otherwise the delegate whose state the session begins
  /// with: `delegate`, or a session of it.
  tenon_delegate* state;
} tenon_session_context;

/// Functions of a backend.
typedef struct tenon_sessions_v1 {
  uint32_t struct_size;
  uint32_t reserved;

  /// Makes another delegate of the same blob. It shares constant data with the first one, and is
  /// executed and destroyed like any delegate, also at the same time as the first one. On failure
  /// it leaves nothing behind.
  ///
  ///   TN-SES-1  A new session MUST have the options of `context` and, with a `state` of NULL, the
  ///             state that `init` gave, whatever ran on the delegate before.
  ///   TN-SES-2  Executing a session MUST NOT change the state of the delegate that it was made of,
  ///             or of another session, nor the other way round.
  ///   TN-SES-3  A host MUST destroy sessions before the delegate that they were made of.
  ///   TN-SES-4  With another `state`, a new session MUST begin with the state that this delegate
  ///             has now, which it MUST NOT change. A backend that cannot copy a state MUST refuse
  ///             it with NOT_SUPPORTED.
  ///
  /// [any, gives: `destroy`] From `init` to `destroy` of `delegate`; per-delegate on `state`, which
  /// may be destroyed first where it is a session.
  tenon_status(TENON_CALL* create_session)(tenon_backend* backend, tenon_delegate* delegate,
                                           const tenon_session_context* context,
                                           tenon_delegate** out);
} tenon_sessions_v1;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_EXTENSIONS_SESSIONS_H
