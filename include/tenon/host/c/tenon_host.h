// SPDX-License-Identifier: MIT
//
// A host in C: what libtenon.so exports, for applications in C and in each language that calls C.
// docs/hosts/c-interface.md shows how to use it, and says what a later version may change.
//
// Plain functions, and not a table behind one symbol as a plugin has: a linker names a function
// that is missing, and generators of bindings (bindgen, cgo, jextract, P/Invoke) read functions;
// cgo cannot call a pointer.
//
// What holds for all functions, where their comment says nothing else:
//
//   threads     Any thread, also at the same time as any other call; but one method, with its
//               sessions, is for one thread at a time. Different methods run at the same time, also
//               methods of one program.
//   ownership   What is passed stays the caller's and is not used after the call; handles keep what
//               they need. So handles may be destroyed in any order, each once, by any thread; NULL
//               is ignored. What is returned as `const` belongs to the handle that it came from,
//               and is valid as long as that.
//   errors      The number of a TENON_STATUS_... (tenon/abi/status.h). A function that fails has
//               changed nothing and stores in `*error` a new object, which the caller destroys.
//               `*error` is not read, and not written by a success. Every function may fail with
//               MEMORY_ALLOCATION_FAILED. No C++ exception leaves a function.
//   null        `error` may be NULL: then the text is lost. So may an array of 0 elements, the
//               `data` of callbacks, and the arguments in a line "null:". A function that returns
//               no status takes a NULL handle for an object that has nothing, and returns 0, NULL
//               or "". Any other NULL is INVALID_ARGUMENT. Texts in results are never NULL.
//   units       Sizes named `nbytes` are in bytes, shapes and strides in elements. Text is UTF-8
//               and ends with NUL, unless a size is next to it.
//   structs     The caller sets `struct_size` to `sizeof` the struct, and the rest to zero, which
//               means the default for each member of an option. A smaller struct is one of an older
//               header; what a larger one has beyond this library's must be zero (NOT_SUPPORTED).
//               A size that no header has is refused: one below the struct's in TENON_C 1.0, above
//               4,096, or no multiple of its alignment (INVALID_ARGUMENT). All structs of an array
//               state one size.
//   callbacks   Must not throw or `longjmp`. May call every function here, unless their comment
//               forbids it. `data` is the application's, and passed on as it is.
//
// Processes that fork: docs/hosts/threads.md. This library and C++ hosts of one process may use the
// same plugins: docs/reference/contract.md.

#ifndef TENON_HOST_C_TENON_HOST_H
#define TENON_HOST_C_TENON_HOST_H

#include <stdint.h>

#include "tenon/abi/backend.h"
#include "tenon/abi/extensions/scheduling.h"
#include "tenon/abi/macros.h"
#include "tenon/abi/native_handle.h"
#include "tenon/abi/plugin.h"
#include "tenon/abi/status.h"
#include "tenon/abi/tensor.h"
#include "tenon/host/c/export.h"

#ifdef __cplusplus
extern "C" {
#endif

// Version of this interface. The major is in the library's name; a program that needs functions of
// a later minor than the library has does not start, and the linker names them.
#define TENON_C_MAJOR 1
#define TENON_C_MINOR 0
#define TENON_C_VERSION (TENON_C_MAJOR * 65536u + TENON_C_MINOR)

typedef struct tenon_error tenon_error;                ///< Why a call failed. Immutable.
typedef struct tenon_registry tenon_registry;          ///< Finds and loads plugins.
typedef struct tenon_backend_list tenon_backend_list;  ///< All that a registry knew. Immutable.
typedef struct tenon_program tenon_program;            ///< A `.pte` file, verified. Immutable.
typedef struct tenon_method_meta tenon_method_meta;    ///< Facts of a method. Immutable.
typedef struct tenon_executor tenon_executor;          ///< Runs what is asynchronous.
typedef struct tenon_task tenon_task;                  ///< One piece of that.
typedef struct tenon_method tenon_method;              ///< A method, loaded.
typedef struct tenon_session tenon_session;            ///< A state of its own for its delegates.

/// TENON_C_VERSION of the library: this header's version, or a later minor of its major.
TENON_HOST_API uint32_t TENON_CALL tenon_c_version(void);

/// The release of the SDK that the library was built from: "0.1.0". Static.
TENON_HOST_API const char* TENON_CALL tenon_release(void);

/// "InvalidArgument", ...; "Internal" for an unknown number. Static.
TENON_HOST_API const char* TENON_CALL tenon_status_name(tenon_status status);

// ----- Errors. An error belongs to no thread.

/// OK for NULL.
TENON_HOST_API tenon_status TENON_CALL tenon_error_status(const tenon_error* error);
/// One or several lines that can be printed as they are: what a terminal obeys is an escape.
TENON_HOST_API const char* TENON_CALL tenon_error_text(const tenon_error* error);
TENON_HOST_API void TENON_CALL tenon_error_destroy(tenon_error* error);

// ----- Backends. (tenon/host/loader/registry/registry.hpp)

typedef struct tenon_registry_options {
  uint32_t struct_size;
  uint32_t reserved;
  const char* name;  ///< The application, as plugins see it; NULL: "tenon host" and the release.
  /// Receives the lines that plugins log, and why files were refused; NULL: they are dropped.
  /// `level` is a TENON_LOG_..., `plugin` the path of its file. From any thread, also from several
  /// at once, until the registry and all methods that were loaded with it are destroyed.
  void(TENON_CALL* log)(void* data, int32_t level, const char* plugin, const char* text,
                        uint64_t text_size);
  void* log_data;
} tenon_registry_options;

/// A registry that knows no plugin and searches nowhere.
///
/// null: `options`.
TENON_HOST_API tenon_status TENON_CALL tenon_registry_create(const tenon_registry_options* options,
                                                             tenon_registry** out,
                                                             tenon_error** error);
TENON_HOST_API void TENON_CALL tenon_registry_destroy(tenon_registry* registry);

// Bits of `tenon_discovery_options.flags`.
enum {
  /// TENON_PLUGIN_FILES, TENON_PLUGIN_PATH, TENON_SELECT and TENON_DISABLE are not looked at.
  TENON_DISCOVERY_NO_ENVIRONMENT = 1u << 0,
  /// The directory where plugins are installed is not searched.
  TENON_DISCOVERY_NO_INSTALLED = 1u << 1
};

typedef struct tenon_discovery_options {
  uint32_t struct_size;
  uint32_t flags;            ///< TENON_DISCOVERY_...
  const char* const* paths;  ///< Plugins, manifests and directories, absolute; searched first.
  uint32_t num_paths;
  uint32_t reserved;
} tenon_discovery_options;

/// Adds a search for plugins (docs/hosts/discovery.md), which is made once, at the next look-up
/// that misses. A file that cannot be used is no error here, but has its reason in lists.
///
/// null: `options`.
TENON_HOST_API tenon_status TENON_CALL tenon_registry_discover(
    tenon_registry* registry, const tenon_discovery_options* options, tenon_error** error);

/// Registers the backends of the plugin in the file `path`, which is read and not loaded. The
/// application answers for the path: the owner of the file is not checked. `id` is the id to look
/// it up by; NULL: its own.
///
/// null:   `id`.
/// errors: ACCESS_FAILED, NOT_FOUND and NOT_SUPPORTED (the file, its ABI),
///         REGISTRATION_ALREADY_REGISTERED, INVALID_STATE (the id is in use).
TENON_HOST_API tenon_status TENON_CALL tenon_registry_register_plugin(tenon_registry* registry,
                                                                      const char* path,
                                                                      const char* id,
                                                                      tenon_error** error);

/// Registers the backends of a plugin that is linked into the application
/// (tenon/abi/static_plugin.h).
///
/// null:   `id`.
/// errors: as `tenon_registry_register_plugin`, but for the file.
TENON_HOST_API tenon_status TENON_CALL tenon_registry_register_static_plugin(
    tenon_registry* registry, const tenon_plugin_head* plugin, const char* id, tenon_error** error);

/// Forgets `id`. errors: NOT_FOUND, INVALID_STATE (in use).
TENON_HOST_API tenon_status TENON_CALL tenon_registry_unregister(tenon_registry* registry,
                                                                 const char* id,
                                                                 tenon_error** error);

/// Loads the backend of `id`, if it is not loaded, and asks whether it can be used here, as a
/// method that needs it does. It is released again.
///
/// errors: NOT_FOUND, with near ids and all paths that were tried; the backend's own.
TENON_HOST_API tenon_status TENON_CALL tenon_registry_check_backend(const tenon_registry* registry,
                                                                    const char* id,
                                                                    tenon_error** error);

// Values of `tenon_backend_info.state`.
enum {
  TENON_BACKEND_STATE_KNOWN = 0,        ///< Would be loaded at its first look-up.
  TENON_BACKEND_STATE_LOADED = 1,       ///< In use.
  TENON_BACKEND_STATE_SHADOWED = 2,     ///< Another source serves this id.
  TENON_BACKEND_STATE_DUPLICATE = 3,    ///< Another source has this id with the same precedence.
  TENON_BACKEND_STATE_DISABLED = 4,     ///< By TENON_DISABLE or TENON_SELECT.
  TENON_BACKEND_STATE_UNSUPPORTED = 5,  ///< Needs another CPU or another ABI.
  TENON_BACKEND_STATE_REFUSED = 6       ///< The file is no plugin, or is not trusted.
};

typedef struct tenon_backend_info {
  uint32_t struct_size;
  uint32_t state;           ///< TENON_BACKEND_STATE_...
  const char* id;           ///< "" for a file that was refused as a whole.
  const char* origin;       ///< The path of the plugin, or what else it is.
  const char* reason;       ///< Of a state other than KNOWN and LOADED; else "".
  const char* description;  ///< One line for a person; may be "".
  const char* tags;         ///< Comma-separated; may be "".
  const char* name;         ///< Of the plugin, like the two below: "" where there is no record.
  const char* version;
  const char* vendor;
  int32_t priority;
  uint32_t num_users;  ///< References that were held.
} tenon_backend_info;

/// Everything that was found or registered, in the order of the ids; runs searches, loads nothing.
TENON_HOST_API tenon_status TENON_CALL tenon_registry_list(const tenon_registry* registry,
                                                           tenon_backend_list** out,
                                                           tenon_error** error);
TENON_HOST_API uint64_t TENON_CALL tenon_backend_list_size(const tenon_backend_list* list);
TENON_HOST_API tenon_status TENON_CALL tenon_backend_list_get(const tenon_backend_list* list,
                                                              uint64_t index,
                                                              tenon_backend_info* out,
                                                              tenon_error** error);
TENON_HOST_API void TENON_CALL tenon_backend_list_destroy(tenon_backend_list* list);

// ----- Programs. (tenon/host/loader/program/program.hpp)

typedef struct tenon_program_options {
  uint32_t struct_size;
  uint32_t num_limits;
  const char* const* limits;  ///< "values=1000", "name_bytes=4K", ... (docs/hosts/limits.md).
} tenon_program_options;

/// Maps the file at `path` and verifies it. The file must not change while the program, or a method
/// of it, lives.
///
/// null:   `options`.
/// errors: ACCESS_FAILED, INVALID_PROGRAM, NOT_SUPPORTED, INVALID_EXTERNAL_DATA, and
///         OUT_OF_RESOURCES (a limit). The text begins with the path.
TENON_HOST_API tenon_status TENON_CALL tenon_program_open(const char* path,
                                                          const tenon_program_options* options,
                                                          tenon_program** out, tenon_error** error);

/// Verifies a copy of `nbytes` bytes. `name` replaces the path in errors.
///
/// null:   `name`, `options`.
/// errors: as `tenon_program_open`.
TENON_HOST_API tenon_status TENON_CALL tenon_program_copy(const void* bytes, uint64_t nbytes,
                                                          const char* name,
                                                          const tenon_program_options* options,
                                                          tenon_program** out, tenon_error** error);

/// Verifies bytes that stay the caller's: they begin at a multiple of 16, and must not change until
/// `release` is called, once, on any thread: when the program and all that uses it is destroyed.
/// After a failure it is not called.
///
/// null:   `release`, `name`, `options`.
/// errors: as `tenon_program_open`; INVALID_ARGUMENT for other alignments.
TENON_HOST_API tenon_status TENON_CALL tenon_program_borrow(const void* bytes, uint64_t nbytes,
                                                            void(TENON_CALL* release)(void* data),
                                                            void* data, const char* name,
                                                            const tenon_program_options* options,
                                                            tenon_program** out,
                                                            tenon_error** error);
TENON_HOST_API void TENON_CALL tenon_program_destroy(tenon_program* program);

TENON_HOST_API uint64_t TENON_CALL tenon_program_num_methods(const tenon_program* program);
/// NULL when `index` is above the end.
TENON_HOST_API const char* TENON_CALL tenon_program_method_name(const tenon_program* program,
                                                                uint64_t index);

/// Facts of one input or output of a method that is not loaded.
typedef struct tenon_value_meta {
  uint32_t struct_size;
  uint32_t kind;  ///< TENON_VALUE_...; what follows is of tensors, and zero for others.
  int32_t scalar_type;
  uint32_t rank;
  tenon_dl_dtype dtype;
  uint32_t shape_dynamism;   ///< TENON_SHAPE_...
  const int64_t* sizes;      ///< `rank` sizes; the largest where the shape is dynamic.
  const uint8_t* dim_order;  ///< `rank` dimensions from outermost to innermost.
  uint64_t nbytes;           ///< Of these sizes.
  tenon_dl_device device;
  uint32_t is_memory_planned;  ///< 1: the method has memory for it.
  uint32_t name_size;
  const char* name;      ///< `name_size` bytes, not NUL-terminated.
  const void* reserved;  ///< NULL. As large as a pointer, so that no target has padding.
} tenon_value_meta;

/// errors: INVALID_ARGUMENT (no method `method`).
TENON_HOST_API tenon_status TENON_CALL tenon_program_get_method_meta(const tenon_program* program,
                                                                     const char* method,
                                                                     tenon_method_meta** out,
                                                                     tenon_error** error);
TENON_HOST_API uint64_t TENON_CALL tenon_method_meta_num_inputs(const tenon_method_meta* meta);
TENON_HOST_API uint64_t TENON_CALL tenon_method_meta_num_outputs(const tenon_method_meta* meta);
/// errors, of both: INVALID_ARGUMENT (an index above the end).
TENON_HOST_API tenon_status TENON_CALL tenon_method_meta_get_input(const tenon_method_meta* meta,
                                                                   uint64_t index,
                                                                   tenon_value_meta* out,
                                                                   tenon_error** error);
TENON_HOST_API tenon_status TENON_CALL tenon_method_meta_get_output(const tenon_method_meta* meta,
                                                                    uint64_t index,
                                                                    tenon_value_meta* out,
                                                                    tenon_error** error);
/// The ids of the backends that the method needs: sorted, each once.
TENON_HOST_API uint64_t TENON_CALL tenon_method_meta_num_backends(const tenon_method_meta* meta);
/// NULL when `index` is above the end.
TENON_HOST_API const char* TENON_CALL tenon_method_meta_backend(const tenon_method_meta* meta,
                                                                uint64_t index);
TENON_HOST_API void TENON_CALL tenon_method_meta_destroy(tenon_method_meta* meta);

// ----- Executors, for asynchronous runs. (tenon/host/layers/async/executor.hpp)

/// `num_threads` threads, 1 or more, with one queue of up to `max_waiting` tasks; 0: any number. It
/// ends when it and all methods with it are destroyed, after the tasks that are in its queue.
///
/// errors: OUT_OF_RESOURCES (the system has no more threads).
TENON_HOST_API tenon_status TENON_CALL tenon_executor_create(uint32_t num_threads,
                                                             uint64_t max_waiting,
                                                             tenon_executor** out,
                                                             tenon_error** error);

/// The application's own. `submit` returns OK and has `task` run once, by `tenon_task_run`, on any
/// thread, later or at once, or dropped, by `tenon_task_drop`, whereupon the run fails; or it
/// returns another number and does neither. A task may wait for a device, and needs the stack of
/// `tenon_method_execute`. `release` is called once when `submit` is needed no more.
///
/// null: `release`.
TENON_HOST_API tenon_status TENON_CALL tenon_executor_create_custom(
    tenon_status(TENON_CALL* submit)(void* data, tenon_task* task),
    void(TENON_CALL* release)(void* data), void* data, tenon_executor** out, tenon_error** error);
TENON_HOST_API void TENON_CALL tenon_executor_destroy(tenon_executor* executor);

/// Both end the task. They call the completion of the run, which is inside of them.
TENON_HOST_API void TENON_CALL tenon_task_run(tenon_task* task);
TENON_HOST_API void TENON_CALL tenon_task_drop(tenon_task* task);

// ----- Methods. (tenon/host/loader/method/method.hpp)

/// Options of one load for one backend.
typedef struct tenon_backend_options {
  uint32_t struct_size;
  uint32_t num_options;
  const char* backend_id;
  const tenon_option* options;
} tenon_backend_options;

/// Bytes on one device.
typedef struct tenon_device_bytes {
  uint32_t struct_size;
  uint32_t reserved;
  tenon_dl_device device;
  uint64_t nbytes;
} tenon_device_bytes;

// Bits of `tenon_method_options.flags`.
enum {
  /// `tenon_method_cancel` can end a run, and the limit run_milliseconds the call of a delegate.
  TENON_METHOD_CANCELLABLE = 1u << 0
};

typedef struct tenon_method_options {
  uint32_t struct_size;
  uint32_t flags;                  ///< TENON_METHOD_...
  const tenon_registry* registry;  ///< Finds the backends; NULL: the method needs none.
  const tenon_executor* executor;  ///< For asynchronous runs; NULL: it has none.
  const tenon_backend_options* backend_options;
  const char* const* data_files;     ///< Paths of `.ptd` files.
  const char* const* limits;         ///< As in tenon_program_options; for load and each run.
  const tenon_device_bytes* budget;  ///< The most that the method may take, by device.
  uint32_t num_backend_options;
  uint32_t num_data_files;
  uint32_t num_limits;
  uint32_t num_budget;
  const char* variant;        ///< The variant to load; NULL: the best (docs/hosts/variants.md).
  const char* embedded_code;  ///< "allow", "deny" or "sha256:HASH,..."; NULL: "allow".
  const tenon_scheduling* scheduling;  ///< Hints; NULL: none.
} tenon_method_options;

/// Loads method `name` of `program`.
///
/// null:   `options`.
/// errors: as the C++ `Method::load`: INVALID_ARGUMENT (no such method; an option for a backend
///         that is not used), NOT_FOUND (a backend, with all that was tried), OPERATOR_MISSING,
///         ACCESS_FAILED (embedded code), OUT_OF_RESOURCES (limits, budget), and failures of a
///         backend.
TENON_HOST_API tenon_status TENON_CALL tenon_method_load(const tenon_program* program,
                                                         const char* name,
                                                         const tenon_method_options* options,
                                                         tenon_method** out, tenon_error** error);

/// Waits for an asynchronous run and its completion, except completions that the calling thread is
/// in. Then the inputs end that the method owns. Two completions must not destroy each other's
/// methods on two threads: both would wait.
TENON_HOST_API void TENON_CALL tenon_method_destroy(tenon_method* method);

TENON_HOST_API uint64_t TENON_CALL tenon_method_num_inputs(const tenon_method* method);
TENON_HOST_API uint64_t TENON_CALL tenon_method_num_outputs(const tenon_method* method);
/// 1: the program itself writes to the bytes of input `index`, such as a state that it changes.
TENON_HOST_API uint32_t TENON_CALL tenon_method_writes_input(const tenon_method* method,
                                                             uint64_t index);
/// The variant that was loaded; "" for a method of a single form.
TENON_HOST_API const char* TENON_CALL tenon_method_variant(const tenon_method* method);

/// Sets input `index` to a tensor without copying it: its bytes must not change until the run has
/// ended, and the shape need not outlive the call. `tensor` may be a `DLTensor`. Its elements are
/// dense in the dim order that the program declares. Pinned memory of the host counts as the CPU's.
/// Set all inputs before each run: a program may plan other values at the address of an input
/// (ExecuTorch: Method::set_input).
///
/// null:   in `tensor`, `data` without bytes, `shape` of rank 0, and `strides` where the dim order
///         is the ordinary one.
/// errors: INVALID_ARGUMENT (index, dtype, number of bytes, alignment, device, strides),
///         NOT_SUPPORTED (sizes that do not fit), INVALID_STATE (a run is pending).
TENON_HOST_API tenon_status TENON_CALL tenon_method_set_input(tenon_method* method, uint64_t index,
                                                              const tenon_dl_tensor* tensor,
                                                              tenon_error** error);

/// Layout of DLPack's `DLManagedTensorVersioned`.
typedef struct tenon_dl_managed_tensor {
  uint32_t major;  ///< Of DLPack: 1.
  uint32_t minor;
  void* manager_ctx;
  void(TENON_CALL* deleter)(struct tenon_dl_managed_tensor* self);  ///< May be NULL.
  uint64_t flags;                                                   ///< DLPACK_FLAG_BITMASK_...
  tenon_dl_tensor dl_tensor;
} tenon_dl_managed_tensor;

/// Sets input `index` as `tenon_method_set_input` does, and the method owns `tensor` after a
/// success: its deleter is called when the input is set again or the method is destroyed, but not
/// before the deleter of an exported output that passes on its bytes. After a failure it stays the
/// caller's.
///
/// `tensor` may be an exported output, also of this method. A run that is given its own output
/// writes to the bytes of its input: pass a copy, unless the program is made for that.
///
/// null:   as `tenon_method_set_input`, and `deleter`.
/// errors: also NOT_SUPPORTED (another major of DLPack), INVALID_ARGUMENT (a read-only tensor that
///         the program writes to).
TENON_HOST_API tenon_status TENON_CALL tenon_method_set_input_managed(
    tenon_method* method, uint64_t index, tenon_dl_managed_tensor* tensor, tenon_error** error);

/// Confirms an input that is no tensor, of kind INT, DOUBLE, BOOL or STRING: it must equal the
/// value that was exported.
///
/// errors: INVALID_ARGUMENT (index, kind, another value).
TENON_HOST_API tenon_status TENON_CALL tenon_method_set_input_value(tenon_method* method,
                                                                    uint64_t index,
                                                                    const tenon_value* value,
                                                                    tenon_error** error);

/// Gives output `index`, which is not memory-planned, the bytes to write to, which must be there
/// while the method may run.
///
/// null:   `data` when `nbytes` is 0.
/// errors: INVALID_STATE (a planned output), INVALID_ARGUMENT (too small, misaligned, device).
TENON_HOST_API tenon_status TENON_CALL tenon_method_set_output(tenon_method* method, uint64_t index,
                                                               void* data, uint64_t nbytes,
                                                               tenon_dl_device device,
                                                               tenon_error** error);

/// Runs the method once. After a failure it may be run again.
TENON_HOST_API tenon_status TENON_CALL tenon_method_execute(tenon_method* method,
                                                            tenon_error** error);

/// Starts one run and returns; the executor runs the rest. After OK `completion` is called exactly
/// once, on the executor's thread or this one, with what `execute` would have returned; it owns
/// `error`, which is NULL after a success, may start the next run, and may destroy the method.
/// After a failure it is never called. Until then only `get_input`, `get_output`, `cancel` and
/// `destroy` may be called for the method.
///
/// errors: INVALID_ARGUMENT (no executor, no completion, an input that was not set), INVALID_STATE
///         (a run is pending), and what `submit` returned.
TENON_HOST_API tenon_status TENON_CALL
tenon_method_execute_async(tenon_method* method,
                           void(TENON_CALL* completion)(void* data, tenon_method* method,
                                                        tenon_status status, tenon_error* error),
                           void* data, tenon_error** error);

/// Ends the run that is going on, which fails with CANCELLED or, at its end, succeeds. Returns
/// without waiting for that; without a run it does nothing. From any thread, at any time until the
/// method is destroyed; not in a signal handler.
///
/// errors: INVALID_STATE (loaded without TENON_METHOD_CANCELLABLE).
TENON_HOST_API tenon_status TENON_CALL tenon_method_cancel(tenon_method* method,
                                                           tenon_error** error);

/// The value of an input or output; NULL when `index` is above the end. The address stays the same
/// while the method lives; `as.tensor->dl` is a `DLTensor`, not a copy, whose bytes and sizes are
/// valid until the next run. An output that the method passes on from an input is the caller's
/// memory. For data on a device see `tenon_method_read_output`.
TENON_HOST_API const tenon_value* TENON_CALL tenon_method_get_input(const tenon_method* method,
                                                                    uint64_t index);
TENON_HOST_API const tenon_value* TENON_CALL tenon_method_get_output(const tenon_method* method,
                                                                     uint64_t index);

/// Output `index`, a tensor, for code that takes DLPack: a view with sizes of its own, which keeps
/// the memory of the method until its deleter is called, on any thread; where the program passes an
/// input on that the method owns, it keeps that input. The next run writes over the bytes.
///
/// errors: INVALID_ARGUMENT (no such output, no tensor), INVALID_STATE (no data yet).
TENON_HOST_API tenon_status TENON_CALL tenon_method_export_output(tenon_method* method,
                                                                  uint64_t index,
                                                                  tenon_dl_managed_tensor** out,
                                                                  tenon_error** error);

/// Copies the bytes of output `index`, a tensor, from any device. `nbytes` is exactly its size.
///
/// null:   `to` when `nbytes` is 0.
/// errors: INVALID_ARGUMENT, INVALID_STATE (no data yet), NOT_SUPPORTED (a device that no backend
///         of the method serves).
TENON_HOST_API tenon_status TENON_CALL tenon_method_read_output(const tenon_method* method,
                                                                uint64_t index, void* to,
                                                                uint64_t nbytes,
                                                                tenon_error** error);

/// Memory that a method holds, in bytes.
typedef struct tenon_method_memory {
  uint32_t struct_size;
  uint32_t num_delegates;
  uint64_t host;            ///< All of it on the CPU.
  uint64_t planned_host;    ///< Planned memory on the CPU,
  uint64_t planned_device;  ///< and on all other devices together.
  uint64_t tables;          ///< Values, instructions and the like.
  uint64_t temp;            ///< Kept for the temp allocator of runs.
} tenon_method_memory;

/// Memory of one delegate, in bytes.
typedef struct tenon_delegate_memory {
  uint32_t struct_size;
  uint32_t is_reported;  ///< 0: the backend does not count, and all but `lent` is 0.
  uint64_t lent;         ///< By the host; the backend's own numbers may count it, too.
  uint64_t host_weights;
  uint64_t host_scratch;    ///< All but weights, on the CPU.
  uint64_t device_weights;  ///< On all other devices together.
  uint64_t device_scratch;
} tenon_delegate_memory;

/// errors: a backend's own.
TENON_HOST_API tenon_status TENON_CALL tenon_method_get_memory(const tenon_method* method,
                                                               tenon_method_memory* out,
                                                               tenon_error** error);
/// errors: INVALID_ARGUMENT (an index above the end); a backend's own.
TENON_HOST_API tenon_status TENON_CALL tenon_method_get_delegate_memory(const tenon_method* method,
                                                                        uint64_t index,
                                                                        tenon_delegate_memory* out,
                                                                        tenon_error** error);

/// From now on the delegates of `backend_id` run on `stream`, a native handle of their device of
/// the given kind (TENON_KIND_CUDA_STREAM in abi/native_handle.h), which outlives its use. With
/// NULL, whatever the kind, they run on their own. Holds for the session in use.
///
/// null:   `stream`; then also `kind`.
/// errors: INVALID_ARGUMENT (no delegate uses the backend; it takes another kind),
///         NOT_SUPPORTED (it has no streams).
TENON_HOST_API tenon_status TENON_CALL tenon_method_set_stream(tenon_method* method,
                                                               const char* backend_id,
                                                               const char* kind, void* stream,
                                                               tenon_error** error);

/// Replaces the hints of the load for later runs; NULL: none.
///
/// null:   `scheduling`.
/// errors: INVALID_STATE (a run is pending), NOT_SUPPORTED (a backend fixes them), a backend's own.
TENON_HOST_API tenon_status TENON_CALL tenon_method_set_scheduling(
    tenon_method* method, const tenon_scheduling* scheduling, tenon_error** error);

// ----- Sessions. (tenon/host/layers/sessions/session.hpp)

// Bits of `tenon_session_options.flags`.
enum {
  /// The session begins with a copy of the method's own state. `state` is NULL.
  TENON_SESSION_COPY_OWN_STATE = 1u << 0
};

typedef struct tenon_session_options {
  uint32_t struct_size;
  uint32_t flags;                                ///< TENON_SESSION_...
  const tenon_backend_options* backend_options;  ///< All others keep the values of the load.
  const tenon_scheduling* scheduling;            ///< Hints; NULL: as for the method itself.
  /// The session begins with a copy of the state of this one, which `method` made, but not with its
  /// options and hints. NULL: with the state after the load.
  const tenon_session* state;
  uint32_t num_backend_options;
  uint32_t reserved;
} tenon_session_options;

/// Makes a state of its own for every delegate, over the same weights.
///
/// null:   `options`.
/// errors: NOT_SUPPORTED (a backend has no sessions, cannot copy a state, or cannot change an
///         option for a session), INVALID_ARGUMENT (an option for a backend that is not used;
///         a `state` of another method, or with the flag), INVALID_STATE (a run is pending),
///         OUT_OF_RESOURCES (the budget), and errors of `tenon_method_load` for an option.
TENON_HOST_API tenon_status TENON_CALL
tenon_method_create_session(tenon_method* method, const tenon_session_options* options,
                            tenon_session** out, tenon_error** error);

/// From now on runs use the state of `session`, which `method` made; NULL: the method's own. The
/// method keeps the session that it uses, also when its handle is destroyed.
///
/// null:   `session`.
/// errors: INVALID_ARGUMENT (a session of another method), INVALID_STATE (a run is pending).
TENON_HOST_API tenon_status TENON_CALL tenon_method_use_session(tenon_method* method,
                                                                tenon_session* session,
                                                                tenon_error** error);

/// Its method may be running in another thread, so the state is freed by the method's next call of
/// `set_input`, `create_session` or `use_session`, or with the method.
TENON_HOST_API void TENON_CALL tenon_session_destroy(tenon_session* session);

#ifdef __cplusplus
}
#endif

#endif  // TENON_HOST_C_TENON_HOST_H
