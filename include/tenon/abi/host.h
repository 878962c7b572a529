// SPDX-License-Identifier: MIT
//
// The services of a host. Symbol interposition is not used: every service is a pointer that the
// host passes, which also works where modules cannot see each other's symbols.

#ifndef TENON_ABI_HOST_H
#define TENON_ABI_HOST_H

#include <stdint.h>

#include "tenon/abi/macros.h"
#include "tenon/abi/status.h"
#include "tenon/abi/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

// Log levels (the order of ExecuTorch's LogLevel, runtime/platform/log.h).
enum { TENON_LOG_DEBUG = 0, TENON_LOG_INFO = 1, TENON_LOG_ERROR = 2, TENON_LOG_FATAL = 3 };

/// Services of the host. One object per plugin. The members up to `set_last_error` are the same in
/// every major, so that a plugin can say why it refuses a host.
///
///   TN-HST-1  A plugin MUST NOT read a member of `tenon_host` that is beyond its `struct_size`:
///             such a host is older and does not have it.
///   TN-HST-2  The host MUST keep its `tenon_host` until the last `close` of the plugin has
///             returned.
typedef struct tenon_host {
  uint32_t struct_size;
  uint16_t abi_major;
  uint16_t abi_minor;

  /// The application and its version, for logs ("tenon-run 0.1.0"). UTF-8, never NULL.
  const char* name;

  /// Absolute path of the plugin's file; "" when the plugin is linked into the application.
  const char* plugin_path;

  /// Keeps `text` as the reason of the failure that the plugin is about to return, also where a
  /// function of the host has failed: only `permit_code` keeps a reason for the plugin. The host
  /// copies the text; a later call on the same thread replaces it. The host uses it for a function
  /// that returns `status`, and not for one that returns another number.
  ///
  /// [any, never] Inside a call from the host.
  void(TENON_CALL* set_last_error)(const struct tenon_host* host, tenon_status status,
                                   const char* text, uint64_t text_size);

  /// Writes one line to the host's log.
  ///
  /// [any, never]
  void(TENON_CALL* log)(const struct tenon_host* host, int32_t level, const char* text,
                        uint64_t text_size);

  /// Gives `tensor` new sizes and the strides of its dim order.
  ///
  /// Fails with NOT_SUPPORTED when the rank differs, when the shape is static and the sizes differ,
  /// when the new number of elements is above the product of the bounds, or when the new bytes are
  /// above `capacity`; with INVALID_ARGUMENT for a negative size, or a product that overflows.
  /// Nothing changes then (ExecuTorch: TensorImpl::internal_resize_contiguous). `sizes` may be the
  /// tensor's own. A size of 0 counts as 1 in strides.
  ///
  /// [per-delegate] Inside `execute` and `run_kernel`, on a tensor among its arguments.
  tenon_status(TENON_CALL* resize_tensor)(const struct tenon_host* host, tenon_tensor* tensor,
                                          const int64_t* sizes, uint32_t rank);

  /// The table of an extension ("tenon.name/1"), or NULL when the host does not have it.
  ///
  /// [any, null] The table is valid until the last `close` of the plugin has returned.
  const void*(TENON_CALL* get_extension)(const struct tenon_host* host, const char* id);
} tenon_host;

/// Memory that the host lends.
typedef struct tenon_allocator {
  uint32_t struct_size;
  uint32_t reserved;

  /// `nbytes` bytes of unspecified content, aligned to `alignment`, or NULL. 0 bytes are a block,
  /// too: its address is aligned and not NULL. An `alignment` that is not a power of two, 0
  /// included, gives NULL. Single blocks cannot be freed: all are freed together at the end of the
  /// allocator's lifetime.
  ///
  /// [per-delegate, null] Inside `init` (runtime allocator: memory until after `destroy`) or inside
  /// `execute` (temp allocator: memory until `execute` returns).
  void*(TENON_CALL* allocate)(struct tenon_allocator* allocator, uint64_t nbytes,
                              uint64_t alignment);
} tenon_allocator;

/// Bytes that may be released early. A caller that asked for a buffer may move the struct before it
/// is released; `tenon_init_context.processed` must stay at its address.
///
///   TN-BUF-1  A plugin MUST NOT read the `data` of a buffer after it called the buffer's
///             `release`.
typedef struct tenon_buffer {
  uint32_t struct_size;
  uint32_t reserved;
  const void* data;  ///< Read-only. NULL exactly when `nbytes` is 0.
  uint64_t nbytes;   ///< 0 after `release`.
  void* owner;       ///< The host's; meaningless to a plugin.

  /// Releases the bytes, and sets `data` to NULL and `nbytes` to 0. May be called twice.
  ///
  /// [any, takes, never] Until `destroy`; the host releases the buffer after `destroy` if the
  /// plugin did not.
  void(TENON_CALL* release)(struct tenon_buffer* buffer);
} tenon_buffer;

/// Layout of a named tensor (ExecuTorch: TensorLayout). Both arrays may be NULL when `rank` is 0.
typedef struct tenon_tensor_layout {
  uint32_t struct_size;
  int32_t scalar_type;
  uint32_t rank;
  uint32_t reserved;
  const int64_t* sizes;      ///< `rank` sizes, in elements.
  const uint8_t* dim_order;  ///< `rank` dimensions from outermost to innermost.
} tenon_tensor_layout;

/// Data by name: the named data of the program file and of `.ptd` files.
/// Keys are byte strings; they need not be NUL-terminated.
typedef struct tenon_named_data_map {
  uint32_t struct_size;
  uint32_t num_keys;

  /// Fills `out` with the bytes of `key`; NOT_FOUND when the key does not exist. The caller sets
  /// `out->struct_size` and zeroes the rest.
  ///
  /// [any, gives: `out->release`, or keep until `destroy`] From `init` to `destroy`.
  tenon_status(TENON_CALL* get_data)(const struct tenon_named_data_map* map, const char* key,
                                     uint64_t key_size, tenon_buffer* out);

  /// Fills `out` with the layout of tensor `key`; NOT_FOUND when the key does not exist or has no
  /// layout.
  ///
  /// [any] From `init` to `destroy`; what `out` points to is valid as long.
  tenon_status(TENON_CALL* get_tensor_layout)(const struct tenon_named_data_map* map,
                                              const char* key, uint64_t key_size,
                                              tenon_tensor_layout* out);

  /// Key number `index`, below `num_keys`; INVALID_ARGUMENT above.
  ///
  /// [any] From `init` to `destroy`; the text is valid as long.
  tenon_status(TENON_CALL* get_key)(const struct tenon_named_data_map* map, uint32_t index,
                                    const char** key, uint64_t* key_size);
} tenon_named_data_map;

/// Receives a delegate's own events. NULL in a context when events are not recorded.
typedef struct tenon_tracer {
  uint32_t struct_size;
  uint32_t reserved;

  /// The tracer's clock, in nanoseconds.
  ///
  /// [any, never] Inside the call whose context named the tracer.
  uint64_t(TENON_CALL* now)(const struct tenon_tracer* tracer);

  /// Records that `name` ran from `start_ns` to `end_ns`. `debug_handle` ties the event to the
  /// handle map made ahead of time; -1 when there is none. `metadata` is kept as bytes.
  ///
  /// [any, never] Inside the call whose context named the tracer.
  void(TENON_CALL* log_event)(const struct tenon_tracer* tracer, const char* name,
                              uint64_t name_size, int64_t debug_handle, uint64_t start_ns,
                              uint64_t end_ns, const void* metadata, uint64_t metadata_size);

  /// Records that the counter `name` had the value `value` at `at_ns` of the tracer's clock: bytes
  /// read so far, busy cores, degrees. `unit` is for people ("bytes", "%"), one for each name;
  /// empty when it has none. A value that is not finite is not recorded. NULL when counters are not
  /// recorded.
  ///
  /// [any, never] Inside the call whose context named the tracer.
  void(TENON_CALL* log_counter)(const struct tenon_tracer* tracer, const char* name,
                                uint64_t name_size, const char* unit, uint64_t unit_size,
                                uint64_t at_ns, double value);
} tenon_tracer;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_HOST_H
