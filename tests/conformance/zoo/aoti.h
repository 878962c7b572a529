// SPDX-License-Identifier: MIT
//
// The extension for exporters of AOTInductor models. Included before good_plugin.h; the definitions
// of a broken plugin come before it.

#ifndef TENON_ZOO_AOTI_H
#define TENON_ZOO_AOTI_H

#include "good.h"

// As in the list that make_programs.cpp writes.
#ifndef ZOO_FALLBACK_KERNELS
#define ZOO_FALLBACK_KERNELS "aoti_torch_zoo_add", "aoti_torch_zoo_mul"
#endif
#ifndef ZOO_SERVES_MUL
#define ZOO_SERVES_MUL 1
#endif
#ifndef ZOO_COMPILE_OPTIONS
#define ZOO_COMPILE_OPTIONS "{\"max_autotune\": true}"
#endif

static const char* const zoo_fallback_kernels[] = {ZOO_FALLBACK_KERNELS};

static int32_t zoo_serves(tenon_backend* backend, const char* function) {
  (void)backend;
  if (strcmp(function, "aoti_torch_zoo_mul") == 0) return ZOO_SERVES_MUL;
  return strcmp(function, "aoti_torch_zoo_add") == 0 ||
         strcmp(function, "aoti_torch_zoo_rand") == 0;
}

static const tenon_aoti_export_v1 zoo_aoti_export = {
    .struct_size = sizeof(tenon_aoti_export_v1),
    .num_fallback_kernels = sizeof zoo_fallback_kernels / sizeof zoo_fallback_kernels[0],
    .device_name = "zoo",
    .torch_device = "zoo",
    .fallback_kernels = zoo_fallback_kernels,
    .decompositions = "{}",
    .compile_options = ZOO_COMPILE_OPTIONS,
    .serves = zoo_serves,
};

#define ZOO_EXTENSIONS(id) \
  if (strcmp(id, TENON_EXTENSION_AOTI_EXPORT) == 0) return &zoo_aoti_export

#endif
