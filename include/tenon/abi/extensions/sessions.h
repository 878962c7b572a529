// SPDX-License-Identifier: MIT
//
// Extension "tenon.sessions/1" of a backend: several independent states over one loaded blob, such
// as conversations that share the weights of one language model.

#ifndef TENON_ABI_EXTENSIONS_SESSIONS_H
#define TENON_ABI_EXTENSIONS_SESSIONS_H

#include <stdint.h>

#include "tenon/abi/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXTENSION_SESSIONS "tenon.sessions/1"

typedef struct tenon_sessions_v1 {
  uint32_t struct_size;
  uint32_t reserved;

  /// Makes another delegate of the same blob. It shares constant data with the first one, and is
  /// executed and destroyed like any delegate, also at the same time as the first one.
  ///
  ///   TN-SES-1  A new session MUST have the state that `init` gave, whatever ran on the delegate
  ///             before.
  ///   TN-SES-2  Executing a session MUST NOT change the state of the delegate that it was made of,
  ///             nor the other way round.
  ///   TN-SES-3  A host MUST destroy sessions before the delegate that they were made of.
  ///
  /// [any, gives: `destroy`] From `init` to `destroy` of `delegate`.
  tenon_status (*create_session)(tenon_backend* backend, tenon_delegate* delegate,
                                 tenon_delegate** out);
} tenon_sessions_v1;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_EXTENSIONS_SESSIONS_H
