// SPDX-License-Identifier: MIT
//
// The functions of a plugin: one table for each backend. Each function has the meaning that
// ExecuTorch's BackendInterface gives it (runtime/backend/interface.h).

#ifndef TENON_ABI_BACKEND_H
#define TENON_ABI_BACKEND_H

#include <stdint.h>

#include "tenon/abi/host.h"
#include "tenon/abi/macros.h"
#include "tenon/abi/status.h"
#include "tenon/abi/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/// One backend, opened for one host. Opaque to the host.
typedef struct tenon_backend tenon_backend;

/// One loaded blob. Opaque to the host.
typedef struct tenon_delegate tenon_delegate;

/// A setting that was given ahead of time and is stored in the program. `value` is `value_size`
/// bytes, NOT NUL-terminated.
typedef struct tenon_compile_spec {
  uint32_t struct_size;
  uint32_t reserved;
  const char* key;  ///< NUL-terminated.
  const void* value;
  uint64_t value_size;
} tenon_compile_spec;

// Types of an option's value.
enum {
  TENON_OPTION_BOOL = 1,
  TENON_OPTION_INT = 2,
  TENON_OPTION_DOUBLE = 3,
  TENON_OPTION_STRING = 4,
  TENON_OPTION_BYTES = 5
};

/// A setting for one load, or for the backend as a whole (extension "tenon.options/1").
typedef struct tenon_option {
  uint32_t struct_size;
  uint32_t type;    ///< TENON_OPTION_..., says which member of `as` is meant.
  const char* key;  ///< NUL-terminated.
  union {
    uint8_t boolean;
    int64_t integer;
    double real;
    tenon_span span;  ///< STRING (char, not NUL-terminated) and BYTES (uint8_t).
  } as;
} tenon_option;

struct tenon_scheduling;  // abi/extensions/scheduling.h

/// The argument of `init`. Its arrays have elements that may be larger than the structs in this
/// header (TN-BCK-10).
typedef struct tenon_init_context {
  uint32_t struct_size;
  uint32_t num_compile_specs;
  const tenon_host* host;   ///< The one that `open` got.
  const char* method_name;  ///< The method being loaded ("forward"); valid until `init` returns.

  /// The blob. Its bytes live until `destroy` has returned, or until it is released. They may begin
  /// at any address: a backend that needs an alignment copies them where they have another.
  tenon_buffer* processed;
  const tenon_compile_spec* compile_specs;  ///< Exactly those used ahead of time, in their order.

  tenon_allocator* runtime_allocator;
  const tenon_named_data_map* named_data_map;  ///< NULL when the program has none.
  const tenon_tracer* tracer;                  ///< NULL when events are not recorded.

  const tenon_option* runtime_specs;  ///< Options of this load for this backend.
  uint32_t num_runtime_specs;
  uint32_t reserved;

  /// OK when the application lets the program's own code run: `code_size` bytes at `code`, all that
  /// is about to be mapped. NULL in a host that does not restrict code: the backend continues.
  ///
  ///   TN-COD-1  A backend that runs code from a program MUST have RUNS_EMBEDDED_CODE in its record
  ///             and MUST ask `permit_code` in each `init`, before it maps that code.
  ///   TN-COD-2  The code that a backend maps MUST be the bytes that it asked `permit_code` for,
  ///             and it MUST ask for all of them.
  ///   TN-COD-3  When `permit_code` answers with a failure, `init` MUST map nothing and MUST return
  ///             that failure. The host has kept its reason like `set_last_error`; the plugin need
  ///             not set one.
  ///
  /// [per-delegate] Inside the call that got `context`, which is the object to pass.
  tenon_status(TENON_CALL* permit_code)(const struct tenon_init_context* context, const void* code,
                                        uint64_t code_size);

  /// The application's hints for the method (abi/extensions/scheduling.h); NULL when it has none.
  const struct tenon_scheduling* scheduling;
} tenon_init_context;

/// The context of `execute`, besides its arguments. The delegates that one backend has in a method
/// share one object, which is the same in each of their calls.
typedef struct tenon_execution_context {
  uint32_t struct_size;
  uint32_t reserved;
  const tenon_host* host;   ///< The one that `open` got.
  const char* method_name;  ///< Valid as long as the object.
  tenon_allocator* temp_allocator;
  const tenon_tracer* tracer;  ///< NULL when events are not recorded.
} tenon_execution_context;

/// Functions of one backend.
///
///   TN-BCK-1  A function MUST NOT let a C++ exception or a `longjmp` cross the boundary.
///   TN-BCK-2  What a plugin allocated MUST be freed by the plugin, what the host allocated by the
///             host.
///   TN-BCK-3  `tenon_backend_api.struct_size` MUST be the size of the table as it was compiled
///             into the plugin. A function beyond it, or a NULL one, is answered by the host with
///             NOT_IMPLEMENTED; `open`, `close`, `init`, `execute` and `destroy` are required.
///   TN-BCK-7  A function MUST NOT end the process or the thread, whatever its arguments: no crash,
///             no `abort`, no `exit`, no overflow of a stack of 256 KiB.
///   TN-BCK-8  Every function MUST return by itself, without another call into the plugin.
///   TN-BCK-9  Calls that a function's brackets allow at the same time (abi/tenon.h) MUST NOT
///             disturb each other.
///   TN-BCK-10 A function MUST take the `struct_size` of the first element as the step between the
///             elements of an array of structs: the other side may know a larger struct.
///   TN-BCK-11 The host MUST walk the arrays of a plugin by that step, too.
///
/// The state of the process belongs to the application:
///
///   TN-PRC-1  A plugin MUST NOT change the locale.
///   TN-PRC-2  A plugin MUST NOT change what is done on a signal, or which ones a thread blocks.
///   TN-PRC-3  A function MUST NOT change the floating-point environment: rounding, traps, how
///             subnormal numbers are treated. Flags that an operation raises are no change.
///   TN-PRC-4  A plugin MUST NOT change the current working directory, the environment's variables
///             or the mask for new files.
///   TN-PRC-5  A plugin MUST NOT use the standard streams, or a descriptor that it did not open;
///             `tenon_host.log` is for what it has to say.
///
/// A process that was forked calls no function of the boundary in the child. Time that passes while
/// the machine is suspended counts as time. A device that is lost or removed makes functions fail
/// with DEVICE_LOST; `destroy` and `close` still free what the process holds.
typedef struct tenon_backend_api {
  uint32_t struct_size;
  uint32_t reserved;

  /// Makes the backend ready for `host`. Cheap: no device is touched before `is_available` or
  /// `init`.
  ///
  ///   TN-BCK-4  A backend MUST refuse a host it cannot work with by NOT_SUPPORTED and a text that
  ///             names both ABI versions.
  ///
  /// [any, gives: `close`] After load; `*out` is valid until `close`.
  tenon_status(TENON_CALL* open)(const tenon_host* host, tenon_backend** out);

  /// Frees the backend.
  ///
  ///   TN-BCK-5  After the last `close` the plugin MUST hold nothing: no thread, no memory, no
  ///             descriptor, no mapping, no process, no file, so that it can be unloaded. Excepted
  ///             are libraries of a driver that its author names, and what those hold.
  ///
  /// [exclusive, takes, never] After every delegate of the backend is destroyed.
  void(TENON_CALL* close)(tenon_backend* backend);

  /// OK when the backend can process delegation calls on this machine. Any failure means that it
  /// cannot; its text says why ("no CUDA driver: libcuda.so.1 not found").
  /// A backend that needs nothing may leave it NULL: a host then takes the backend for available.
  /// A host need not call it before `init`.
  ///
  ///   TN-BCK-6  MUST report the truth on a machine without the device, and MUST NOT crash there.
  ///             `init` MUST fail there, whether or not the host has asked.
  tenon_status(TENON_CALL* is_available)(tenon_backend* backend);

  /// Loads one blob.
  ///
  ///   TN-INI-1  On failure `init` MUST leave nothing behind; `destroy` is not called then.
  ///   TN-INI-2  A payload of a version that the backend does not know MUST be refused with
  ///             DELEGATE_INVALID_COMPATIBILITY, naming the version found and those expected.
  ///   TN-INI-3  MUST NOT keep `context`, the arrays and the name it points to, or the keys and
  ///             values of their elements. `processed`, the host, the named data map, and memory
  ///             from the runtime allocator may be kept until `destroy`.
  ///   TN-INI-4  On success `init` MUST write `*out`; NULL is a valid delegate.
  ///   TN-INI-5  MUST NOT read outside of `processed`, and MUST NOT write to it, whatever bytes are
  ///             in it.
  ///   TN-INI-6  MUST fail when the host gives it no memory or no data that it asked for, and the
  ///             next `init` MUST succeed.
  ///   TN-INI-7  MUST load a blob that was made for the backend.
  ///   TN-INI-8  Blobs that were loaded and destroyed before MUST NOT change whether `init`
  ///             succeeds, or the outputs of its delegate.
  ///
  /// [any, gives: `destroy`] `*out` is valid until `destroy`.
  tenon_status(TENON_CALL* init)(tenon_backend* backend, const tenon_init_context* context,
                                 tenon_delegate** out);

  /// Runs one loaded blob once. `args` lists inputs, then outputs, in the order in which the blob
  /// was lowered. An output of dynamic shape has the sizes it was last given, at first its bounds:
  /// the backend resizes it.
  ///
  /// Inputs may share memory with each other. An output shares none with another argument, unless
  /// the blob was lowered for that, as for a state that is updated in place. The memory plan of the
  /// program guarantees that, and the application where it gives the memory; a host does not check
  /// it. What is in memory that an output shares all the same is unspecified after the call.
  ///
  ///   TN-EXE-1  MUST accept any number of calls between `init` and `destroy`.
  ///   TN-EXE-2  MUST NOT write to an input.
  ///   TN-EXE-3  After a failure of `execute` the outputs are unspecified, and the next call with
  ///             good arguments MUST succeed. Arguments that are refused leave the state of the
  ///             delegate as it was; after any other failure the state is unspecified, too.
  ///   TN-EXE-4  When `execute` returns, the outputs MUST be complete, unless the caller agreed
  ///             otherwise through an extension.
  ///   TN-EXE-5  Arguments of the wrong number, kind, dtype (its lanes, too), rank or size, and on
  ///             a device that the backend does not list, MUST be refused with a failure, never
  ///             read or written out of bounds.
  ///   TN-EXE-6  MUST write every element of each output, and nothing outside of the elements.
  ///   TN-EXE-7  The outputs of `execute` MUST be those of the program that was lowered, within the
  ///             tolerance that the author states.
  ///   TN-EXE-8  The same inputs in the same state MUST give the same outputs, bit for bit, unless
  ///             the author states otherwise.
  ///   TN-EXE-9  A delegate MUST NOT hold more after many runs than after a few.
  ///   TN-EXE-10 MUST accept every size from 0 up to the bounds of a dynamic shape for which the
  ///             program was lowered.
  ///   TN-EXE-11 Runs with other sizes MUST NOT change the outputs of later ones: the same inputs
  ///             in the same state give the same outputs, bit for bit, unless the author states
  ///             otherwise.
  ///   TN-EXE-12 An output MUST NOT have NaN where the output of the program that was lowered has a
  ///             number, and MUST NOT be 0 in all elements where that output is not, whatever the
  ///             tolerance.
  ///
  /// [per-delegate] From `init` to `destroy`.
  tenon_status(TENON_CALL* execute)(tenon_backend* backend, tenon_delegate* delegate,
                                    const tenon_execution_context* context,
                                    tenon_value* const* args, uint32_t num_args);

  /// Frees one loaded blob.
  ///
  ///   TN-DES-1  MUST NOT disturb any other delegate.
  ///   TN-DES-2  MUST accept NULL when `init` gave NULL.
  ///   TN-DES-3  MUST give back all that `init` and `execute` took for the delegate, also when the
  ///             last `execute` failed.
  ///
  /// [per-delegate, takes, never] Once for each successful `init` or `create_session`. The
  /// delegates of a method, and the states of one session, in the order in which they were made;
  /// sessions before their delegate (TN-SES-3).
  void(TENON_CALL* destroy)(tenon_backend* backend, tenon_delegate* delegate);

  /// The table of an extension ("tenon.options/1"), or NULL when the backend does not have it.
  ///
  ///   TN-EXT-1  MUST answer an id that it does not know with NULL, and the same id always with the
  ///             same table, whose `struct_size` is its size as it was compiled into the plugin.
  ///
  /// [any, null] The table is constant and valid until `close`.
  const void*(TENON_CALL* get_extension)(tenon_backend* backend, const char* id);
} tenon_backend_api;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_BACKEND_H
