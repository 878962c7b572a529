// SPDX-License-Identifier: MIT
//
// Extension "tenon.kernel_lookup/1" of a host: a delegate that calls operators without having code
// for them asks its host for kernels of other plugins ("tenon.kernels/1"). A host without it, or
// one of an earlier version, has none to give.

#ifndef TENON_ABI_DRAFT_KERNEL_LOOKUP_H
#define TENON_ABI_DRAFT_KERNEL_LOOKUP_H

#include <stdint.h>

#include "tenon/abi/backend.h"
#include "tenon/abi/extensions/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXTENSION_KERNEL_LOOKUP "tenon.kernel_lookup/1"

/// A kernel of another plugin, bound to arguments of the delegate that asked for it. Its plugin
/// stays loaded until `destroy_kernel`. Opaque to the delegate.
///
/// Kernels that have a value or a tensor in common are made, run and destroyed one at a time;
/// others may be used at the same time.
typedef struct tenon_found_kernel tenon_found_kernel;

/// Functions of the host. After one that failed `last_failure` has the reason.
typedef struct tenon_kernel_lookup_v1 {
  uint32_t struct_size;
  uint32_t reserved;

  /// Finds a kernel for one call of an operator, `call`, and binds it to the call's arguments.
  /// `call` is as for `tenon_kernels_v1.create_kernel`; each plugin gets one that the host makes of
  /// it. Plugins are asked as for an operator of the program itself.
  ///
  /// The asking delegate owns `call->args`, the values and the tensors. It keeps all addresses
  /// until `destroy_kernel`, but for `dl.data`, and changes, between two runs alone, only what a
  /// host may (TN-TEN-3), and the content of integers, reals and booleans. Where it lets the kernel
  /// resize a tensor, `bounds` and `capacity` are the limits.
  ///
  /// Fails with OPERATOR_MISSING when no plugin has the operator for these arguments, and with the
  /// failure of a plugin that has the operator and refuses the arguments. The asking backend's own
  /// kernels count like the kernels of any other backend.
  ///
  /// [per-delegate, gives: `destroy_kernel`] Inside the call of `init` or `check_blob` that got
  /// `context`, which is the object to pass; `*out` is valid until `destroy_kernel`, which is
  /// called before the delegate's `destroy` returns.
  tenon_status(TENON_CALL* find_kernel)(const tenon_init_context* context,
                                        const tenon_kernel_context* call, tenon_found_kernel** out);

  /// Makes another kernel for the operator of `kernel`, by the same plugin, for other arguments of
  /// the same kinds, dtypes and dim orders: for a further session, or for a run at the same time.
  /// `args` are as in `tenon_kernel_context`.
  ///
  /// [any, gives: `destroy_kernel`] From `find_kernel` to `destroy_kernel` of `kernel`; `*out` may
  /// outlive it, and is destroyed before the delegate's `destroy` returns.
  tenon_status(TENON_CALL* clone_kernel)(const tenon_found_kernel* kernel, tenon_value* const* args,
                                         uint32_t num_args, tenon_found_kernel** out);

  /// Runs the kernel once. It may be run again after a failure. Memory that the kernel takes for
  /// one run is the host's, and separate for each kernel. The kernel has the pool and the cancel
  /// flag of the delegate's method.
  ///
  /// [per-delegate] From `find_kernel` or `clone_kernel` to `destroy_kernel`.
  tenon_status(TENON_CALL* run_kernel)(tenon_found_kernel* kernel);

  /// Frees a kernel, NULL included, and releases its plugin.
  ///
  /// [per-delegate, takes, never] Once for each kernel, before the delegate's `destroy` returns.
  void(TENON_CALL* destroy_kernel)(tenon_found_kernel* kernel);

  /// The reason of the latest failure of a function of this table on this thread, NUL-terminated,
  /// with the operator and the plugins; "" when there was none.
  ///
  /// [any, never] The text is valid until the next call on this thread.
  const char*(TENON_CALL* last_failure)(const tenon_host* host);
} tenon_kernel_lookup_v1;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_DRAFT_KERNEL_LOOKUP_H
