// SPDX-License-Identifier: MIT
//
// Extension "tenon.streams/1" of a backend: delegates run on a stream of the application, in order
// with the application's own work on the device.

#ifndef TENON_ABI_EXTENSIONS_STREAMS_H
#define TENON_ABI_EXTENSIONS_STREAMS_H

#include <stdint.h>

#include "tenon/abi/backend.h"
#include "tenon/abi/native_handle.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXTENSION_STREAMS "tenon.streams/1"

typedef struct tenon_streams_v1 {
  uint32_t struct_size;
  uint32_t reserved;

  /// The kind of the streams that this backend takes (TENON_KIND_CUDA_STREAM). Constant.
  ///
  ///   TN-STR-6  `kind` MUST be a text of abi/native_handle.h, or begin with a vendor's name and a
  ///             dot.
  ///   TN-STR-7  A host that is given a stream of another kind MUST refuse it, and MUST NOT pass it
  ///             to the backend.
  const char* kind;

  /// From now on `execute` of this delegate enqueues its work on `stream`, a native handle of
  /// `kind` for the delegate's device, and may return before that work is done: outputs in
  /// device memory are complete when the stream reaches that point. NULL gives the delegate its own
  /// stream back, and with it TN-EXE-4. (CUDA's default stream has the handle `cudaStreamLegacy`,
  /// which is not NULL.)
  ///
  ///   TN-STR-1  A failure of `set_stream` MUST leave the delegate on the stream that it had. A
  ///             delegate that cannot run on a stream of the application is NOT_SUPPORTED, with the
  ///             reason.
  ///   TN-STR-2  When `execute` returns, inputs in host memory MUST have been read and outputs in
  ///             host memory MUST be complete, also on the caller's stream.
  ///   TN-STR-3  Work that was enqueued before `set_stream`, on the old or the new stream, MUST
  ///             come before work that later calls of `execute` enqueue for the delegate.
  ///   TN-STR-4  `destroy` MUST NOT return before what the delegate enqueued is done.
  ///   TN-STR-5  A host MUST keep a stream that it set valid until the delegate has another or is
  ///             destroyed.
  ///
  /// [per-delegate] From `init` to `destroy` of `delegate`.
  tenon_status(TENON_CALL* set_stream)(tenon_backend* backend, tenon_delegate* delegate,
                                       void* stream);
} tenon_streams_v1;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_EXTENSIONS_STREAMS_H
