// SPDX-License-Identifier: MIT
// Breaks TN-BIN-10: its object is STB_GNU_UNIQUE, so it is never unloaded.
// Only in ELF.
#define ZOO_SYMBOL zoo_object_of_c
#include "good_plugin.h"

__asm__(
    ".type tenon_plugin_v1, %gnu_unique_object\n"
    ".set tenon_plugin_v1, zoo_object_of_c\n"
    ".size tenon_plugin_v1, 984\n");
_Static_assert(sizeof(zoo_object) == 984, "the symbol has another size than the object");
