// SPDX-License-Identifier: MIT
//
// Extension "tenon.sequence/1" of a backend: the bytes of a state. A state is what a delegate keeps
// from one run to the next, such as the keys and values of a language model's past. A session
// (abi/extensions/sessions.h) is a live state; a sequence is its bytes, which a host can copy, put
// back and store. The host makes the rest of them: it returns to an earlier run, branches, and
// continues with a state that it stored.
//
// What this draft does not do: a part has one size for all delegates of a blob, from `init` to
// `destroy`. A cache that grows lists its largest size, and a paged cache its whole memory. How
// much of a part is in use is the backend's secret, so that a host copies all of it, or asks for
// the ranges that it needs.

#ifndef TENON_ABI_DRAFT_SEQUENCE_H
#define TENON_ABI_DRAFT_SEQUENCE_H

#include <stdint.h>

#include "tenon/abi/backend.h"
#include "tenon/abi/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXTENSION_SEQUENCE "tenon.sequence/1"

/// One part of the state of a delegate.
typedef struct tenon_state_part {
  uint32_t struct_size;
  uint32_t reserved;

  /// For people, and to find the part again. UTF-8, need not be NUL-terminated.
  const char* name;
  uint64_t name_size;

  /// The bytes of the part, in the host's memory, where they are until `destroy` of the delegate;
  /// or NULL where the host cannot reach them, and `read` and `write` do.
  void* data;
  uint64_t nbytes;
} tenon_state_part;

/// Receives the parts of a state; the host's.
typedef struct tenon_state_list {
  uint32_t struct_size;
  uint32_t reserved;

  /// Adds one. The host copies the struct and the name. A failure ends the listing: it is what
  /// `list` is to return.
  ///
  /// [per-delegate] Inside `list`.
  tenon_status(TENON_CALL* add)(const struct tenon_state_list* to, const tenon_state_part* part);
} tenon_state_list;

/// Functions of a backend. A host calls them, and reads and writes the parts, from `init` to
/// `destroy` of `delegate`, outside of its `execute` and of work that it started.
typedef struct tenon_sequence_v1 {
  uint32_t struct_size;
  uint32_t reserved;

  /// Adds all parts of the state of `delegate` to `to`. A delegate may have none.
  ///
  ///   TN-SEQ-1  `list` MUST add the same parts in each call, and for each delegate of one blob,
  ///             also in another process: equal sizes and names in one order, each name once.
  ///   TN-SEQ-2  The parts MUST be all that a call of `execute` leaves for later ones: with the
  ///             bytes that they had before a call, `execute` computes again what that call did.
  ///   TN-SEQ-3  The bytes MUST mean the same to each delegate of the blob, in another process,
  ///             too: they have no addresses, and refer to nothing that one delegate alone has.
  ///   TN-SEQ-4  Outside of `execute`, nothing but the host MUST change the bytes of a delegate;
  ///             neither does `execute` of another one.
  ///
  /// [per-delegate] See above.
  tenon_status(TENON_CALL* list)(tenon_backend* backend, tenon_delegate* delegate,
                                 const tenon_state_list* to);

  /// Copies `nbytes` bytes, from byte `offset` on, of the part with number `part` in `list` to
  /// `to`. Fails with INVALID_ARGUMENT for a range that is not inside of the part. NULL when all
  /// parts have an address.
  ///
  /// [per-delegate] See above.
  tenon_status(TENON_CALL* read)(tenon_backend* backend, tenon_delegate* delegate, uint64_t part,
                                 uint64_t offset, uint64_t nbytes, void* to);

  /// Copies `nbytes` bytes from `from` into the part, from byte `offset` on; the other bytes stay.
  /// Fails as `read` does. NULL when `read` is.
  ///
  /// [per-delegate] See above.
  tenon_status(TENON_CALL* write)(tenon_backend* backend, tenon_delegate* delegate, uint64_t part,
                                  uint64_t offset, uint64_t nbytes, const void* from);

  /// The host has written to parts: what was derived from their bytes is to be made again. NULL
  /// where nothing is.
  ///
  /// [per-delegate] See above; before the next `execute`.
  tenon_status(TENON_CALL* written)(tenon_backend* backend, tenon_delegate* delegate);
} tenon_sequence_v1;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_DRAFT_SEQUENCE_H
