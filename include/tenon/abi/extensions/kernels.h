// SPDX-License-Identifier: MIT
//
// Extension "tenon.kernels/1" of a backend: kernels for operators that were left in a program,
// outside of its delegates. A backend with kernels sets TENON_BACKEND_OFFERS_KERNELS in its record,
// so that a host loads only such plugins.

#ifndef TENON_ABI_EXTENSIONS_KERNELS_H
#define TENON_ABI_EXTENSIONS_KERNELS_H

#include <stdint.h>

#include "tenon/abi/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXTENSION_KERNELS "tenon.kernels/1"

/// The code for one operator call of one loaded method, bound to its arguments. Opaque to the host.
/// In brackets, "per-delegate" means one kernel. Kernels that have a value or a tensor in common,
/// such as the kernels of one method, are made and run one at a time.
typedef struct tenon_kernel tenon_kernel;

/// Receives the name of one operator, NUL-terminated: "aten::add.out", the overload after a dot
/// when there is one. `op` is valid until the function returns.
///
/// [any, never] Inside the call that it was given to.
typedef void(TENON_CALL* tenon_operator_sink)(void* context, const char* op);

/// The argument of `create_kernel`: one call of an operator. It and `op` are valid until
/// `create_kernel` returns, `args` until `destroy_kernel`.
typedef struct tenon_kernel_context {
  uint32_t struct_size;
  uint32_t num_args;

  /// The name, as `list_operators` has it ("aten::add.out"), NUL-terminated. Never NULL.
  const char* op;

  /// The arguments as the program lists them: in the order of the operator's schema, outputs last,
  /// followed by the operator's return values (often the same values again). NULL when `num_args`
  /// is 0. The addresses of the array, of its values and of their contents are fixed until
  /// `destroy_kernel`; only the members that TN-TEN-3 names change, and values that an instruction
  /// writes. Tensors may have no data yet.
  tenon_value* const* args;
} tenon_kernel_context;

/// Functions of a library of kernels.
///
///   TN-KRN-1  A backend MUST have TENON_BACKEND_OFFERS_KERNELS in its record exactly when it has
///             this extension.
typedef struct tenon_kernels_v1 {
  uint32_t struct_size;
  uint32_t reserved;

  /// Passes the names of the operators that have a kernel to `sink`.
  ///
  ///   TN-KRN-6  MUST pass each name once, in the same order each time, and none that is empty.
  tenon_status(TENON_CALL* list_operators)(tenon_backend* backend, tenon_operator_sink sink,
                                           void* context);

  /// Makes the kernel for one call of an operator.
  ///
  ///   TN-KRN-2  MUST answer an operator that `list_operators` does not name, and dtypes or dim
  ///             orders that no kernel of the operator is for, with OPERATOR_MISSING and a text
  ///             that names the operator.
  ///   TN-KRN-3  Arguments of the wrong number or kind MUST be refused with INVALID_ARGUMENT or
  ///             INVALID_TYPE, by `create_kernel` or by `run_kernel`.
  ///   TN-KRN-7  On success `create_kernel` MUST write `*out`, which is not NULL. On failure it
  ///             MUST leave nothing behind; `destroy_kernel` is not called then.
  ///
  /// [any, gives: `destroy_kernel`] `*out` is valid until `destroy_kernel`.
  tenon_status(TENON_CALL* create_kernel)(tenon_backend* backend,
                                          const tenon_kernel_context* context, tenon_kernel** out);

  /// Runs the kernel once, with the current contents of its arguments. An output of dynamic shape
  /// is resized by `tenon_host.resize_tensor`; integer, real and boolean values are written in
  /// place. A kernel for a view may set the `dl.data` of its output to an address inside another
  /// argument.
  ///
  ///   TN-KRN-4  A kernel MUST accept any number of runs, also after one that failed.
  ///
  /// [per-delegate] From `create_kernel` to `destroy_kernel`.
  tenon_status(TENON_CALL* run_kernel)(tenon_kernel* kernel,
                                       const tenon_execution_context* context);

  /// Frees a kernel, NULL included.
  ///
  ///   TN-KRN-5  A host MUST destroy every kernel before `close`.
  ///   TN-KRN-8  MUST give back all that `create_kernel` and `run_kernel` took for the kernel, also
  ///             when the last run failed.
  ///
  /// [per-delegate, takes, never] Once for each successful `create_kernel`.
  void(TENON_CALL* destroy_kernel)(tenon_backend* backend, tenon_kernel* kernel);
} tenon_kernels_v1;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_EXTENSIONS_KERNELS_H
