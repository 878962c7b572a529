// SPDX-License-Identifier: MIT
//
// Status numbers. They are ExecuTorch's `executorch::runtime::Error` (runtime/core/error.h), value
// for value, so that a number means the same in a log of either runtime. Those from 0x7a on are
// Tenon's own.

#ifndef TENON_ABI_STATUS_H
#define TENON_ABI_STATUS_H

#include <stdint.h>

/// Result of a call across the boundary: 0 is success, every other value a failure.
///
///   TN-ERR-1  A function that fails MUST return the number of a TENON_STATUS_... and not another.
///             A host maps an unknown number to TENON_STATUS_INTERNAL.
///   TN-ERR-2  A plugin that fails MUST call `tenon_host.set_last_error` first, on the thread that
///             was called, with a text that names the argument or field, what was expected and what
///             was found. It MUST do so, too, when it fails because a function of the host failed,
///             other than `permit_code` (TN-COD-3).
typedef uint32_t tenon_status;

enum {
  TENON_STATUS_OK = 0x00,

  // System errors.
  TENON_STATUS_INTERNAL = 0x01,
  TENON_STATUS_INVALID_STATE = 0x02,
  TENON_STATUS_END_OF_METHOD = 0x03,
  TENON_STATUS_ALREADY_LOADED = 0x04,

  // Logical errors: the call itself was wrong.
  TENON_STATUS_NOT_SUPPORTED = 0x10,
  TENON_STATUS_NOT_IMPLEMENTED = 0x11,
  TENON_STATUS_INVALID_ARGUMENT = 0x12,
  TENON_STATUS_INVALID_TYPE = 0x13,
  TENON_STATUS_OPERATOR_MISSING = 0x14,
  TENON_STATUS_REGISTRATION_EXCEEDING_MAX_KERNELS = 0x15,
  TENON_STATUS_REGISTRATION_ALREADY_REGISTERED = 0x16,

  // Resource errors.
  TENON_STATUS_NOT_FOUND = 0x20,
  TENON_STATUS_MEMORY_ALLOCATION_FAILED = 0x21,
  TENON_STATUS_ACCESS_FAILED = 0x22,
  TENON_STATUS_INVALID_PROGRAM = 0x23,
  TENON_STATUS_INVALID_EXTERNAL_DATA = 0x24,
  TENON_STATUS_OUT_OF_RESOURCES = 0x25,

  // Delegate errors.
  TENON_STATUS_DELEGATE_INVALID_COMPATIBILITY = 0x30,
  TENON_STATUS_DELEGATE_MEMORY_ALLOCATION_FAILED = 0x31,
  TENON_STATUS_DELEGATE_INVALID_HANDLE = 0x32,

  // Tenon's own, for which ExecuTorch has no number: far from those that it counts up.

  /// The device was removed, reset or lost. Every call but `destroy` and `close` may fail with it
  /// from then on; the application closes the backend and opens it again.
  TENON_STATUS_DEVICE_LOST = 0x7a,
  /// A limit of time that the caller gave has passed.
  TENON_STATUS_TIMED_OUT = 0x7b,
  /// The device or a resource of it is in use elsewhere; the same call may succeed later.
  TENON_STATUS_BUSY = 0x7c,
  /// The application ended the run (abi/extensions/cancel.h). Linux gives this number to ECANCELED.
  TENON_STATUS_CANCELLED = 0x7d
};

#endif  // TENON_ABI_STATUS_H
