// SPDX-License-Identifier: MIT
// Breaks TN-BIN-12: its code contains an absolute address.
// Only in ELF.
__asm__(".pushsection .text; .quad tenon_plugin_v1; .popsection");
#include "good_plugin.h"
