// SPDX-License-Identifier: MIT
//
// Extension "tenon.prepare/1" of a host: storage for what a plugin prepared from a blob, such as a
// compiled model or packed weights, so that the first load on a machine is the only slow one.

#ifndef TENON_ABI_EXTENSIONS_PREPARE_H
#define TENON_ABI_EXTENSIONS_PREPARE_H

#include <stdint.h>

#include "tenon/abi/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXTENSION_PREPARE "tenon.prepare/1"

/// Bytes that were prepared from one blob, and the place where the host keeps them; the host's.
///
/// The bytes are those that this very file of the plugin gave to `store`, for a blob, compile specs
/// and an identity that are equal byte for byte. The host has copied them, checked the copy and
/// made it read-only, so that nothing changes it.
///
///   TN-PRP-1  The outputs MUST be the same, bit for bit unless the author states otherwise,
///             whether or not bytes were found.
///   TN-PRP-2  A plugin MUST release what `open` gave, before the last `destroy` of the delegate
///             and its sessions returns, and before `init` does when it fails.
///   TN-PRP-3  A failure of `open` or of `store` MUST NOT make a call of the plugin fail.
///   TN-PRP-4  What was found MUST be used: a load with the same blob, compile specs and options
///             MUST open with the same identity, and MUST NOT store what it could have found.
typedef struct tenon_prepared {
  uint32_t struct_size;
  uint32_t reserved;

  uint64_t nbytes;  ///< Bytes at `data`.
  /// The bytes that were found, aligned to 4,096 bytes; NULL when none were. Valid until `release`.
  const void* data;

  /// Keeps the parts, one after the other, for later loads; what was kept before is replaced, and
  /// `data` stays. Takes as long as writing a file: where only runs show what to prepare, `destroy`
  /// is the call to store in. A failure, such as OUT_OF_RESOURCES on a full disk or for more bytes
  /// than the application allows, keeps nothing and needs no answer.
  ///
  /// [per-delegate] From `open` to `release`.
  tenon_status(TENON_CALL* store)(struct tenon_prepared* prepared, const tenon_span* parts,
                                  uint64_t num_parts);

  /// Frees the object and the bytes.
  ///
  /// [per-delegate, takes, never] Once.
  void(TENON_CALL* release)(struct tenon_prepared* prepared);

  const void* reserved_pointer;  ///< NULL.
} tenon_prepared;

/// Functions of the host.
typedef struct tenon_prepare_v1 {
  uint32_t struct_size;
  uint32_t reserved;

  /// Looks for what an earlier load of `context->processed` kept. `identity`, which is compared and
  /// not read by the host, is all that the bytes depend on besides the plugin's file, the blob and
  /// its compile specs: device, driver, versions of libraries, options, and data by name that went
  /// into them. NOT_SUPPORTED when the application keeps nothing. Nothing was found is no failure.
  ///
  /// Hashes the blob, so `processed` must not have been released: INVALID_STATE.
  ///
  /// [per-delegate, gives: `release`] Inside the call of `init` that got `context`, which is the
  /// object to pass.
  tenon_status(TENON_CALL* open)(const tenon_init_context* context, const void* identity,
                                 uint64_t identity_size, tenon_prepared** out);
} tenon_prepare_v1;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_EXTENSIONS_PREPARE_H
