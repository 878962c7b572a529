// SPDX-License-Identifier: MIT
//
// Extension "tenon.aoti_export/1" of a backend for models that PyTorch's AOTInductor compiled: what
// an exporter must know to compile models for it. In ExecuTorch these are the abstract methods of
// AotiBackend (backends/aoti/aoti_backend.py): get_device_name, get_supported_fallback_kernels,
// get_decomposition_table, get_aoti_compile_options. Experimental, like all that is for
// AOTInductor.

#ifndef TENON_ABI_DRAFT_AOTI_EXPORT_H
#define TENON_ABI_DRAFT_AOTI_EXPORT_H

#include <stdint.h>

#include "tenon/abi/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXTENSION_AOTI_EXPORT "tenon.aoti_export/1"

/// Facts for the exporter. Texts end with NUL, are never NULL, and are valid as long as the table.
///
///   TN-AEX-1  `fallback_kernels` MUST name functions that `serves` finds, each once.
///   TN-AEX-2  `fallback_kernels` MUST name the same functions as the list by which the exporter
///             lets operators through.
///   TN-AEX-3  `device_name` and `torch_device` MUST not be empty; `decompositions` and
///             `compile_options` MUST be JSON objects.
typedef struct tenon_aoti_export_v1 {
  uint32_t struct_size;
  uint32_t num_fallback_kernels;

  /// The public name, from which names of files derive: "metal" in "aoti_metal_blob.ptd".
  const char* device_name;
  /// PyTorch's name, to which the exporter moves the model: "mps".
  const char* torch_device;
  /// C functions for operators that models may call: "aoti_torch_cpu_mm_out".
  const char* const* fallback_kernels;
  /// A JSON object: operators to decompose ("aten.conv1d.default"), each with the operator that
  /// replaces it, or "" for PyTorch's own decomposition.
  const char* decompositions;
  /// A JSON object: options for torch._inductor.aot_compile.
  const char* compile_options;

  /// Returns 1 when a model that calls the C function `function` finds it in this backend, else 0.
  ///
  /// [any, never]
  int32_t(TENON_CALL* serves)(tenon_backend* backend, const char* function);
} tenon_aoti_export_v1;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_DRAFT_AOTI_EXPORT_H
