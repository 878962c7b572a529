// SPDX-License-Identifier: MIT
//
// Extension "tenon.device_memory/1" of a backend: memory on the devices that it lists, and copies
// between that memory, the host's memory and the memory of its other devices. A host uses it for
// the memory that a program plans on a device, so that tensors pass from one delegate to the next
// without leaving the device.

#ifndef TENON_ABI_EXTENSIONS_DEVICE_MEMORY_H
#define TENON_ABI_EXTENSIONS_DEVICE_MEMORY_H

#include <stdint.h>

#include "tenon/abi/backend.h"
#include "tenon/abi/native_handle.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXTENSION_DEVICE_MEMORY "tenon.device_memory/1"

/// Functions for memory on devices.
///
///   TN-DEV-1  A backend MUST serve each device that its "tenon.devices/1" lists, and MUST refuse
///             any other with INVALID_ARGUMENT and a text that names the device.
///   TN-DEV-2  A host MUST NOT read or write a block of device memory through its address. It may
///             add to the address as if the block were an array of bytes.
///   TN-DEV-3  `execute` MUST accept an address inside a block of device memory as the data of a
///             tensor whose `dl.device` is the block's.
typedef struct tenon_device_memory_v1 {
  uint32_t struct_size;
  uint32_t reserved;

  /// Writes the address of a new block of at least `nbytes` bytes to `*out`. Its contents are
  /// unspecified.
  ///
  ///   TN-DEV-4  A host MUST ask for a block of 1 byte or more, and for an alignment that is a
  ///             power of two.
  ///   TN-DEV-5  The address of a new block MUST be a multiple of `alignment` and not NULL. If
  ///             memory is exhausted, `allocate` MUST return MEMORY_ALLOCATION_FAILED and keep
  ///             nothing.
  ///
  /// [any, gives: `free`] `*out` is valid until `free`.
  tenon_status(TENON_CALL* allocate)(tenon_backend* backend, tenon_dl_device device,
                                     uint64_t nbytes, uint64_t alignment, void** out);

  /// Frees a block of `device`, NULL included.
  ///
  ///   TN-DEV-6  A host MUST free every block of device memory before `close`, with the device that
  ///             it was made for, and after the delegates that were given addresses inside it.
  ///
  /// [any, takes, never] Once for each successful `allocate`.
  void(TENON_CALL* free)(tenon_backend* backend, tenon_dl_device device, void* block);

  /// Copies `nbytes` bytes of the host, from `from`, to `to` inside a block of `device`. 0 bytes
  /// are nothing to do, whatever the addresses.
  ///
  ///   TN-DEV-7  A copy to or from a device MUST come after everything that earlier calls of
  ///             `execute` enqueued on the device, also on a caller's stream ("tenon.streams/1").
  ///   TN-DEV-8  A copy to or from a device MUST be complete when it returns, and an `execute`
  ///             called later MUST see its bytes. After a failure the destination is unspecified.
  tenon_status(TENON_CALL* copy_to_device)(tenon_backend* backend, tenon_dl_device device, void* to,
                                           const void* from, uint64_t nbytes);

  /// Copies `nbytes` bytes from `from`, inside a block of `device`, to `to` on the host, by the
  /// rules of `copy_to_device`.
  tenon_status(TENON_CALL* copy_to_host)(tenon_backend* backend, tenon_dl_device device, void* to,
                                         const void* from, uint64_t nbytes);

  /// Copies `nbytes` bytes from `from`, inside a block of `from_device`, to `to` inside a block of
  /// `to_device`. Both are devices of this backend, and may be the same; the two ranges have no
  /// byte in common. NULL in a backend that leaves it out: a host then copies by the two functions
  /// above, through its own memory. 0 bytes are nothing to do, whatever the addresses.
  ///
  /// `stream` is NULL, or a stream of `to_device`, of the kind that "tenon.streams/1" of the
  /// backend names. With NULL the rules of `copy_to_device` hold. On a stream, `copy_on` may return
  /// before the copy is complete, which it is when the stream reaches that point; a host waits for
  /// that before it uses the bytes elsewhere. A backend without "tenon.streams/1" refuses any
  /// stream with NOT_SUPPORTED.
  ///
  ///   TN-DEV-9  A complete copy of `copy_on` MUST have the bytes of its source, and leave the
  ///             source and all bytes around the destination as they were.
  ///   TN-DEV-10 A copy on a stream MUST come after all that was enqueued there before, and
  ///             before what is enqueued there later.
  tenon_status(TENON_CALL* copy_on)(tenon_backend* backend, void* stream, tenon_dl_device to_device,
                                    void* to, tenon_dl_device from_device, const void* from,
                                    uint64_t nbytes);
} tenon_device_memory_v1;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_EXTENSIONS_DEVICE_MEMORY_H
