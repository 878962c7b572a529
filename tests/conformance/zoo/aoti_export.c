// SPDX-License-Identifier: MIT
//
// Export of AOTInductor models (TN-AEX). README.md says how a section becomes a plugin.

#ifdef ZOO_compile_options_are_no_json
// Breaks TN-AEX-3 at level 5: the options for the compiler are not JSON.
#define ZOO_COMPILE_OPTIONS "max_autotune=1"
#include "aoti.h"
#endif

#ifdef ZOO_forgets_kernel_in_list
// Breaks TN-AEX-2 at level 5: it has a kernel that the list of the exporter lacks.
#define ZOO_FALLBACK_KERNELS "aoti_torch_zoo_add", "aoti_torch_zoo_mul", "aoti_torch_zoo_rand"
#include "aoti.h"
#endif

#ifdef ZOO_lists_missing_kernel
// Breaks TN-AEX-1 at level 5: exporters may use a function that models do not find.
#define ZOO_SERVES_MUL 0
#include "aoti.h"
#endif

#include "aoti.h"

#ifdef ZOO_good_aoti
// Breaks nothing. Has what exporters of AOTInductor models read.
#include "aoti.h"
#endif

#include "good_plugin.h"
