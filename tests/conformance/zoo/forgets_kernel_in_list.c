// SPDX-License-Identifier: MIT
// Breaks TN-AEX-2 at level 5: it has a kernel that the list of the exporter lacks.
#define ZOO_FALLBACK_KERNELS "aoti_torch_zoo_add", "aoti_torch_zoo_mul", "aoti_torch_zoo_rand"
#include "aoti.h"
#include "good_plugin.h"
